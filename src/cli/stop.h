/* Reads the options of `stop` and `restart` for the grace period. Also stops a single command of
 * a sandbox. */
#pragma once

#include "cli/args.h"

/* Sets *RET_MS to the grace period of the option `-t`, to 0 if `-f` is given, or to
 * STOP_GRACE_DEFAULT without both options. Fails with ERR_INVALID if the value of `-t` is bad. */
MUST_USE int stop_grace(const struct args *a, uint32_t *ret_ms, struct err *e);
/* Stops one command of one sandbox. The option `--id` names the command, and the positional
 * argument names the sandbox. Returns the exit status. */
int stop_command(const struct args *a, uint32_t grace_ms);
