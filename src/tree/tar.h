/*
 * Writes a tar archive from a stream of records (wire/file.h), which may come from hostile code.
 *
 * Files lose their set-user-id and set-group-id bits, and links that lead out of the tree are left
 * out, as in a copy. In an archive the size of a file comes before its bytes, but the stream does
 * not tell the size in advance. So each file is first written to a scratch file. Memory is bounded.
 */
#pragma once

#include "base/buf.h"
#include "tree/disk_limit.h"
#include "tree/walk.h"
#include "wire/file.h"

struct tar {
	const struct tree_sink *to;
	int scratch; /* a file without a name; owned by the caller */
	/* the name of the outermost entry, or NULL to take the name in the stream. If this is "",
	 * only the contents of the entry are sent. Borrowed */
	const char *name;
	/* path of the tree in the sandbox; an absolute link is left out unless its target is in the
	 * tree at this path; borrowed */
	const char *source;
	/* called for each NOTE and MISS of the stream, for each link that is left out, and for each
	 * file that loses set-user-id or set-group-id */
	void (*note)(void *arg, enum file_record_type type, const char *text);
	void *arg;

	bool ended;   /* DONE was received */
	bool in_file; /* between the records FILE and END */
	bool placed;  /* the outermost entry was sent */
	unsigned depth, mode;
	struct disk_limit disk_limit; /* for the scratch file */
	uint64_t size, time_s;
	struct buf in, at;
	struct file_record record;
};

/* Before this call the caller sets the members from TO to ARG, and zeroes the others. If SOURCE is
 * NULL, every absolute link is left out. */
void tar_init(struct tar *t);
void tar_done(struct tar *t);
/* Takes the next bytes of the stream, which may be cut at any place. After DONE the archive is
 * complete. */
MUST_USE int tar_feed(struct tar *t, const void *p, size_t n, struct err *e);
