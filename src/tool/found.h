/* Checks the answer of cordon-search and writes it as the result of the tool `grep`. The answer may
 * be hostile, because a file may have hijacked cordon-search. */
#pragma once

#include "base/err.h"
#include "base/json.h"

#define FOUND_ANSWER_MAX_BYTES (1u << 20)

/* Writes the result. TOP is the path of the searched directory or file in the sandbox. If CUT is
 * true, some files were not searched. Returns -1 if the answer is not valid. W may then hold a part
 * of the result. */
MUST_USE int found_write(struct str answer, const char *top, bool cut, struct json_writer *w);
