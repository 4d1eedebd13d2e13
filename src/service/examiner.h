/*
 * Finds out whether a server can do what it promises (service/readiness.h). In standard mode it asks the backend. Where
 * grants are enforced it also looks at the default workspace and runs a throw-away sandbox, which writes a marker through
 * the bind mount and names its namespaces. That result is kept for a while.
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

/* Everything is borrowed. */
struct examiner_parts {
	struct sessions *sessions;
	struct backend *backend;
	struct workplace *workplace;
	const struct admission *admission;
	const struct enforcement_words *enforced;
	const struct box_limits *limits;
	const struct namespaces *own; /* the namespaces of the server */
	bool unsafe_storage;          /* the operator lets the checks of storage pass */
};

/* R is valid during the call. */
typedef void examiner_told_fn(void *arg, const struct readiness *r);

struct examiner *examiner_new(const struct examiner_parts *parts);
/* Callers that wait are not told any more. */
void examiner_free(struct examiner *x);
/* FN is called exactly once, perhaps before this returns. */
void examiner_ask(struct examiner *x, examiner_told_fn *fn, void *arg);
/* The configuration has changed: nothing that was found out counts any more. */
void examiner_forget(struct examiner *x);
