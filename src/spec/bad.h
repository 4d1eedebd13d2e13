/* How every grammar says no: flag, kind of value, the value itself, and why. Private to spec/. */
#pragma once

#include "base/err.h"

/* "--volume: bad mount 'A:B'", allocated. */
char *bad_beginning(const char *flag, const char *noun, const char *value);
/* ERR_INVALID: "--memory: bad size '12Q': unknown unit 'Q', use K, M, G or T". Returns -1. */
int bad_value(struct err *e, const char *flag, const char *noun, const char *value, const char *why,
	      ...) PRINTF_LIKE(5, 6);
