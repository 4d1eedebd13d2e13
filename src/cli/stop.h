/* The grace options of `stop` and `restart`. */
#pragma once

#include "cli/args.h"

/* Reads -f and -t. Fails with ERR_INVALID for a bad value. */
MUST_USE int stop_grace(const struct args *a, uint32_t *ret_ms, struct err *e);
