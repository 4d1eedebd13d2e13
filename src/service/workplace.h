/*
 * The default workspace of a server: a directory of the host that the configuration names. The
 * server has no access to files, so a hand finds the directory and makes it if it is missing. The
 * hand returns a canonical path. Code that opens this path later follows no link in it.
 */
#pragma once

#include <stdbool.h>

#include "client/hands.h"
#include "service/fault.h"
#include "service/model.h"

#define WORKPLACE_MARKER \
	".langbot-box-volume-probe-" /* in the name of a marker, 32 hex digits follow this text */

struct workplace {
	struct hands *hands;
	char *path; /* absolute; NULL if no workspace is configured */
	/* a missing workspace is made only below one of these directories; borrowed */
	const struct model_texts *roots;
	char *found; /* the canonical path; NULL until a hand has found it */
	/* the directory was found below a root, and we may read, write and enter it */
	bool usable;
	/* how many times workplace_configure() was called. If a question was asked before the last
	 * of these calls, its answer does not change `found` and `usable` */
	unsigned serial;
};

/* workplace_find() calls this function with its result. FAULT is NULL if the directory exists, or
 * if no workspace is configured. */
typedef void workplace_told_fn(void *arg, const struct fault *fault);
/* workplace_read_marker() calls this function with its result. FAULT is NULL on success. DIGEST is
 * the SHA-256 of the marker in hex. */
typedef void workplace_marker_fn(void *arg, const struct fault *fault, const char *digest,
				 uint64_t size);

void workplace_init(struct workplace *w, struct hands *hands, const struct model_texts *roots);
void workplace_done(struct workplace *w);
/* Sets the path of the workspace. Takes ownership of PATH, which may be NULL. Forgets the directory
 * that was found before. */
void workplace_configure(struct workplace *w, char *path);
/* Finds the directory. If MAKE is true and a missing directory is below a root, makes it. Calls FN
 * once, perhaps before workplace_find() returns. */
void workplace_find(struct workplace *w, bool make, workplace_told_fn *fn, void *arg);
/* Reads the marker NAME in the directory that was found. A marker is a small file with a random
 * name. A temporary sandbox (service/examiner.c) or the peer writes the marker. If we can read the
 * marker, the writer and we use the same directory. If ERASE is true, removes the marker. All
 * faults are FAULT_READINESS. */
void workplace_read_marker(struct workplace *w, const char *name, bool erase,
			   workplace_marker_fn *fn, void *arg);
