/* Messages about bad values. They name the flag, the kind of value, the value and the reason.
 * Private to spec/. */
#pragma once

#include "base/err.h"

/* Returns "--volume: bad mount 'A:B'", allocated. */
char *bad_beginning(const char *flag, const char *noun, const char *value);
/* Sets ERR_INVALID "--memory: bad size '12Q': unknown unit 'Q', use K, M, G or T". Returns -1. */
int bad_value(struct err *e, const char *flag, const char *noun, const char *value, const char *why,
	      ...) PRINTF_LIKE(5, 6);
