/* The options for the grace period, for `stop` and `restart`, and the stop of a single command. */
#pragma once

#include "cli/args.h"

/* Reads -f and -t. Fails with ERR_INVALID for a bad value. */
MUST_USE int stop_grace(const struct args *a, uint32_t *ret_ms, struct err *e);
/* Stops the command that --id names, in the sandbox that the only positional names. Returns the exit status. */
int stop_command(const struct args *a, uint32_t grace_ms);
