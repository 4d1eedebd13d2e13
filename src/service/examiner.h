/*
 * Finds out whether a server can do what it promises (service/readiness.h). In standard mode the examiner asks the
 * backend. If grants are enforced, the examiner also looks at the default workspace and runs a temporary sandbox,
 * which writes a marker through the bind mount and prints its namespaces. The policy says for how many seconds this
 * result is kept.
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
	bool unsafe_storage;          /* the operator has switched off the checks of storage */
};

/* Called with the result. R is valid during the call. */
typedef void examiner_told_fn(void *arg, const struct readiness *r);

struct examiner *examiner_new(const struct examiner_parts *parts);
/* Callers that still wait get no answer. */
void examiner_free(struct examiner *x);
/* FN is called exactly once, perhaps before this returns. */
void examiner_ask(struct examiner *x, examiner_told_fn *fn, void *arg);
/* Must be called when the configuration has changed. Drops the result that was kept. */
void examiner_forget(struct examiner *x);
