/*
 * The default workspace of a server: a directory of the host that the configuration names. A hand looks it up and makes
 * it, because the server has no file system. The path that the hand has found is canonical; everything later uses that
 * path and follows no link in it.
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
	char *path;                      /* as configured, absolute; NULL: none */
	const struct model_texts *roots; /* where it may be made; borrowed from the owner */
	char *found;                     /* canonical; NULL: no hand has found it */
	bool usable;                     /* found, in a root, and we may read, write and enter it */
	unsigned serial; /* of the configuration; an answer to an older one is void */
};

/* FAULT is NULL if the directory is there, or if none is configured. */
typedef void workplace_told_fn(void *arg, const struct fault *fault);
/* FAULT is NULL on success. DIGEST is the SHA-256 of the marker in hex. */
typedef void workplace_marker_fn(void *arg, const struct fault *fault, const char *digest,
				 uint64_t size);

void workplace_init(struct workplace *w, struct hands *hands, const struct model_texts *roots);
void workplace_done(struct workplace *w);
/* Takes PATH, which may be NULL, and forgets what was found. */
void workplace_configure(struct workplace *w, char *path);
/* Looks the directory up; MAKE makes it if it is missing and lies in a root. FN is called once, perhaps at once. */
void workplace_find(struct workplace *w, bool make, workplace_told_fn *fn, void *arg);
/* Reads a marker in the directory that was found. ERASE removes it. All faults are FAULT_READINESS. */
void workplace_read_marker(struct workplace *w, const char *name, bool erase,
			   workplace_marker_fn *fn, void *arg);
