/* Lists the files of a tree that exists in the sandbox only, and reads many of them at once. */
#pragma once

#include "files/entry.h"
#include "tool/session_script.h"

/* A walk through the tree. It leaves out the files and directories that files/walk.h leaves out. It
 * also leaves out files with a line feed in their paths. */
struct session_walk {
	/* Called for each file. Returns false to end the walk. */
	bool (*file)(void *arg, const struct entry *x);
	void *arg;
	bool cut; /* a limit ended the walk */
};

/* Walks the tree at P. Returns 0, or -1. If P is a regular file, returns 1 and does not call
 * `file`. */
MUST_USE int session_walk_run(struct file_call *c, const struct place *p, struct session_walk *w,
			      struct fault *f);

/* A file to read. */
struct session_want {
	char *path;    /* relative to the tree; "" is the path of the place itself */
	uint64_t size; /* as listed; the file may have another size by now */
};

/* Called for each file. CONTENT is the content of the file, but at most MAX + 1 bytes of it.
 * Returns false if no more files are wanted. */
typedef bool session_got_fn(void *arg, const struct session_want *x, struct str content);

/* Reads N files and passes each to GOT. Leaves out files that have disappeared, and empty files.
 * Stops at the time UNTIL (clock_mono_ns()) and then sets *RET_CUT. */
MUST_USE int session_read_files(struct file_call *c, const struct place *p,
				const struct session_want *want, size_t n, size_t max,
				uint64_t until, session_got_fn *got, void *arg, bool *ret_cut,
				struct fault *f);
