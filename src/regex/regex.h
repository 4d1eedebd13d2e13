/*
 * A regular expression (PCRE) that a user or a model wrote. It is matched against text from a
 * sandbox. The expression and the text may be hostile, so each match has limits on its steps, its
 * depth and its memory. The caller limits the time of all matches together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define REGEX_MATCH_LIMIT 1000000u /* internal steps for one line: some tens of milliseconds */
#define REGEX_DEPTH_LIMIT 10000u   /* nested backtracking points */
#define REGEX_HEAP_LIMIT_KIB (16u << 10) /* memory of one match */

struct regex;

#define REGEX_LINES 1u /* `^` and `$` match at the start and the end of each line */

/* Compiles TEXT, which must live as long as the expression. Fails with ERR_INVALID and the
 * reason. */
MUST_USE int regex_new(const char *text, unsigned flags, struct regex **ret, struct err *e);
void regex_free(struct regex *r);
/* If the expression is plain text, returns this text. The lines that match are then the
 * lines that contain the text. Otherwise returns an empty slice. */
struct str regex_literal(const struct regex *r);
/* Returns 1 if LINE matches, 0 if not, or -ETIME if the line reaches a limit. VALID is true if the
 * caller knows that the line is UTF-8. Bytes that are not UTF-8 match nothing. */
int regex_matches(struct regex *r, struct str line, bool valid);
