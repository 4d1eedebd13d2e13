/* Chooses the records to show. The expression comes from a user and runs over a guest's output, so matching has
 * limits: an expression that takes too long is an error. */
#pragma once

#include "logs/entry.h"

struct regex;

struct filter {
	unsigned sources;            /* bit per enum execlog_source */
	uint64_t since_ns, until_ns; /* [since, until) */
	uint64_t id;        /* only records of this command, since the sandbox last started; or 0 */
	struct regex *grep; /* the expression, or NULL */
};

#define FILTER_SOURCES_DEFAULT (1u << LOG_STDOUT | 1u << LOG_STDERR | 1u << LOG_OUTPUT)

/* Compiles the expression. Fails with ERR_INVALID and the place of the mistake. */
MUST_USE int filter_grep(struct filter *f, const char *pattern, struct err *e);
void filter_done(struct filter *f);
/* Returns 1 if X passes, 0 if X does not pass, or -1 if the expression takes too long for X. */
MUST_USE int filter_passes(const struct filter *f, const struct entry *x, struct err *e);
