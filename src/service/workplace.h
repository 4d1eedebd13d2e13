/*
 * The default workspace of a server: a directory of the host that the configuration names. The server has no access
 * to files, so a hand finds the directory and makes it if it is missing. The hand returns a canonical path. Code
 * that opens this path later follows no link in it.
 */
#pragma once

#include <stdbool.h>

#include "client/hands.h"
#include "service/fault.h"
#include "service/model.h"

#define WORKPLACE_MARKER \
	".langbot-box-volume-probe-" /* 32 hex digits follow in the name of a marker */

struct workplace {
	struct hands *hands;
	char *path;                      /* absolute; NULL if no workspace is configured */
	const struct model_texts *roots; /* the workspace may be made below these; borrowed */
	char *found;                     /* canonical; NULL until a hand has found it */
	bool usable;                     /* found, in a root, and we may read, write and enter it */
	unsigned serial; /* the configuration's number; answers for older numbers are ignored */
};

/* Called with the result. FAULT is NULL if the directory exists, or if no workspace is configured. */
typedef void workplace_told_fn(void *arg, const struct fault *fault);
/* Called with the result. FAULT is NULL on success. DIGEST is the SHA-256 of the marker in hex. */
typedef void workplace_marker_fn(void *arg, const struct fault *fault, const char *digest,
				 uint64_t size);

void workplace_init(struct workplace *w, struct hands *hands, const struct model_texts *roots);
void workplace_done(struct workplace *w);
/* Takes over PATH, which may be NULL, and forgets the directory that was found before. */
void workplace_configure(struct workplace *w, char *path);
/* Looks the directory up. If MAKE is true, a missing directory that lies in a root is made. Calls FN once, perhaps
 * before this returns. */
void workplace_find(struct workplace *w, bool make, workplace_told_fn *fn, void *arg);
/* Reads a marker in the directory that was found. If ERASE is set, removes it. All faults are FAULT_READINESS. */
void workplace_read_marker(struct workplace *w, const char *name, bool erase,
			   workplace_marker_fn *fn, void *arg);
