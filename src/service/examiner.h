/*
 * Finds out whether a server can do what it promises (service/readiness.h). The examiner always
 * asks the backend. If grants are enforced, the examiner also looks at the default workspace and
 * runs a temporary sandbox. This sandbox writes a marker file through a bind mount and prints its
 * namespaces. If grants are enforced, the result is kept for the seconds `readiness_cache_sec` of
 * the admission policy.
 */
#pragma once

#include "service/admission.h"
#include "service/backend.h"
#include "service/enforcement.h"
#include "service/limits.h"
#include "service/namespaces.h"
#include "service/readiness.h"
#include "service/workplace.h"

struct examiner;

/* All pointers are borrowed. */
struct examiner_parts {
	struct sessions *sessions;
	struct backend *backend;
	struct workplace *workplace;
	const struct admission *admission;
	const struct enforcement_words *enforced;
	const struct box_limits *limits;
	const struct namespaces *own; /* the namespaces of the server */
	bool unsafe_storage;          /* the operator has switched off the checks of storage */
};

/* The examiner calls this function with its result. *R is valid during the call. */
typedef void examiner_told_fn(void *arg, const struct readiness *r);

struct examiner *examiner_new(const struct examiner_parts *parts);
/* Frees the examiner. Calls of examiner_ask() that still wait get no answer. */
void examiner_free(struct examiner *x);
/* Asks for the result. FN is called exactly once, perhaps before examiner_ask() returns. If the
 * examiner is freed first, FN is never called. */
void examiner_ask(struct examiner *x, examiner_told_fn *fn, void *arg);
/* Drops the result of the last examination. Must be called when the configuration has changed. */
void examiner_forget(struct examiner *x);
