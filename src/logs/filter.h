/* Chooses the log entries to show. The expression of --grep is matched against the output of a
 * sandbox, and a match may take very long. So the number of steps of a match is limited: if a match
 * takes more steps, the command fails. */
#pragma once

#include "logs/entry.h"

struct regex;

struct filter {
	unsigned sources;            /* one bit for each enum execlog_source */
	uint64_t since_ns, until_ns; /* [since, until) */
	/* only entries of this command since the sandbox last started; 0 means all commands */
	uint64_t id;
	struct regex *grep; /* the expression, or NULL */
};

#define FILTER_SOURCES_DEFAULT (1u << LOG_STDOUT | 1u << LOG_STDERR | 1u << LOG_OUTPUT)

/* Compiles the expression. Fails with ERR_INVALID and the place of the mistake. */
MUST_USE int filter_grep(struct filter *f, const char *pattern, struct err *e);
void filter_done(struct filter *f);
/* Returns 1 if the entry passes, 0 if it does not, or -1 if matching the entry takes too long. */
MUST_USE int filter_passes(const struct filter *f, const struct entry *x, struct err *e);
