/*
 * A stream of records (wire/file.h) as files: the receiving half of tree/walk.h.
 *
 * The stream may come from hostile code. It is bounded in memory, names are single components, and
 * below the pinned destination no link is followed, whoever makes one there meanwhile. Outside a
 * sandbox links are kept inside the copied tree: absolute targets are taken from its top, targets
 * that climb out are refused. Existing files are replaced, directories are joined; modes are kept,
 * owners are not.
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "tree/place.h"
#include "tree/walk.h"
#include "wire/file.h"

enum tree_build_flag {
	TREE_OUTSIDE = 1 << 0, /* the destination is the host's */
	TREE_EXACT = 1 << 1,   /* at the path itself, even if it is a directory */
	TREE_OWN = 1 << 2,     /* only below the root, across no mount; nothing is replaced */
};

struct tree_level {
	int fd;
	unsigned mode;
	bool ours; /* made by us: its mode is set when it is full */
	size_t where_n;
};

struct tree_build {
	const char *path; /* borrowed; outlives us */
	unsigned flags;
	/* NOTE and MISS, the stream's and our own */
	void (*note)(void *arg, enum file_record_type type, const char *text);
	void *arg;

	struct tree_level level[TREE_DEPTH_MAX + 1];
	unsigned depth;
	int file;
	unsigned file_mode;
	off_t file_at;
	bool placed; /* the outermost entry was made */
	bool ended;  /* DONE was seen */
	struct buf in, where;
	struct file_record record;
};

/* Heap: it is large. NOTE may be called from tree_build_feed(). */
struct tree_build *
tree_build_new(const char *path, unsigned flags,
	       void (*note)(void *arg, enum file_record_type type, const char *text), void *arg);
void tree_build_free(struct tree_build *b);
/* The next bytes of the stream, cut anywhere. A FAIL in it is our error. */
MUST_USE int tree_build_feed(struct tree_build *b, const void *p, size_t n, struct err *e);

/* TARGET of a link that sits DEPTH directories below the top of a tree, kept inside it: written to
 * OUT. False when it climbs out. */
bool tree_confine_link(const char *target, unsigned depth, struct buf *out);
