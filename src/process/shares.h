/*
 * Limits how much one sandbox may use of the resources that the kernel counts per user of the
 * machine.
 *
 * The kernel counts processes, queued signals, POSIX message queues and locked memory for a user
 * namespace and for all namespaces above it. A user namespace gets its limits from the process that
 * makes it. So pid 1 first takes the limits that shares_environment() names (base/holder.h), and
 * then makes the payload's namespace. These limits hold for all ids of the payload together. For
 * inotify, each user namespace has settings instead, and the child writes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/plan.h"

/* The parameter OWN of both functions is true if an id of the sandbox makes the outer user
 * namespace. Then the sandbox does not share the limits of that id with anyone. If OWN is false,
 * the sandbox shares the limits of the user who runs cordon, and gets at most half of each
 * limit. */

/* Adds the steps that write settings. */
void shares_plan(struct plan *p, bool own);
/* Returns the environment of pid 1. It has the variable HOLDER_LIMITS, which allows PIDS processes
 * to the payload. The result lives as long as the plan. */
const char *const *shares_environment(struct plan *p, bool own, uint64_t pids);
