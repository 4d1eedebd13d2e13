/*
 * Makes files from a stream of records (wire/file.h). tree/walk.h is the sending half.
 *
 * The stream may come from hostile code. Memory is bounded, and names are single components. The
 * destination is held open by descriptor. No link below the destination is followed, even if
 * another process makes a link there meanwhile. Existing directories are merged, and existing files
 * are replaced, except with TREE_OWN. Modes are kept; owners and attributes are not.
 *
 * If the destination is on the host (TREE_OUTSIDE), the stream decides less:
 * - The outermost entry gets the name that the caller sets, never the name in the stream.
 * - Setuid and setgid bits are dropped, with a note.
 * - A link is made only if it leads to somewhere in the copied tree; other links are left out with
 *   a note. A stream that consists of one link makes nothing.
 * - Hard links are made between files of this stream only, and only to regular files.
 * - The copy ends before the disk is full (tree/disk_limit.h).
 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "tree/disk_limit.h"
#include "tree/place.h"
#include "tree/walk.h"
#include "wire/file.h"

enum tree_build_flag {
	TREE_OUTSIDE = 1 << 0, /* the destination is on the host */
	TREE_EXACT = 1 << 1,   /* the tree goes to the path itself, even if that is a directory */
	TREE_OWN = 1 << 2,     /* stay below the root, cross no mount, replace nothing */
};

struct tree_level {
	int fd;
	unsigned mode;
	bool ours; /* we made this directory; its mode is set after its last entry */
	size_t where_n;
};

struct tree_build {
	const char *path; /* borrowed; must outlive this struct */
	unsigned flags;
	/* The caller may set `at`, `name` and `source` before the first byte, and still owns
	 * them. */
	/* the directory from which a relative `path` is looked up; AT_FDCWD by default; not used
	 * with TREE_OWN */
	int at;
	/* name of the outermost entry; NULL: the name in the stream; "": no name, the entry's
	 * contents go into the destination */
	const char *name;
	/* TREE_OUTSIDE: the tree's path in the sandbox, for absolute links; or NULL */
	const char *source;
	/* called for each NOTE and MISS of the stream, and for our own notes */
	void (*note)(void *arg, enum file_record_type type, const char *text);
	void *arg;

	struct tree_level level[TREE_DEPTH_MAX + 1];
	unsigned depth;
	int file;
	unsigned file_mode;
	off_t file_at;
	bool placed; /* the outermost entry was made */
	bool fresh;  /* we made the file, and it has no bytes yet, so SHARED may follow */
	/* `shared` is an array of struct tree_shared; `shared_paths` has the path of each, ending
	 * in NUL */
	struct buf shared, shared_paths;
	struct disk_limit disk_limit;
	bool ended; /* DONE was received */
	/* length of "NAME/" at the start of `where`; the paths in `shared_paths` lack this part */
	size_t top_n;
	struct buf in, where;
	struct file_record record;
};

/* The struct is on the heap because it is large. tree_build_feed() may call NOTE. */
struct tree_build *
tree_build_new(const char *path, unsigned flags,
	       void (*note)(void *arg, enum file_record_type type, const char *text), void *arg);
void tree_build_free(struct tree_build *b);
/* Takes the next bytes of the stream, which may be cut at any place. A FAIL record in the stream
 * becomes the error E. */
MUST_USE int tree_build_feed(struct tree_build *b, const void *p, size_t n, struct err *e);

/* TARGET is the target of a link that lies DEPTH directories below the top of a tree. Writes TARGET
 * to OUT as a relative path. SOURCE is the path of the original tree, so an absolute TARGET below
 * SOURCE is in the tree. If SOURCE is NULL, every absolute TARGET is outside of the tree. Returns
 * false if TARGET is outside of the tree. */
bool tree_confine_link(const char *target, const char *source, unsigned depth, struct buf *out);
/* Writes the name that a tree from PATH gets by default: the last component, or "" if PATH names
 * contents ("/", "." or ".." at the end). Returns 0 or -ENAMETOOLONG. */
MUST_USE int tree_name_of(const char *path, char ret[FILE_NAME_MAX_BYTES + 1]);
