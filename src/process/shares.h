/*
 * Limits how much one sandbox may take of resources that the kernel counts per user of the machine.
 *
 * The kernel counts processes, queued signals, POSIX queues and locked memory in a user namespace and in all
 * namespaces above it. A user namespace has the limits of the process that made it. So pid 1 makes the payload's
 * namespace under the limits that shares_environment() names (base/holder.h), and they hold for all ids inside
 * together. Inotify has settings per user namespace instead, which the child writes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/plan.h"

/* Parameter OWN: an id of the sandbox makes the outer user namespace, so the sandbox has the limits of that id for
 * itself. Without OWN the sandbox shares the limits of its caller and gets at most half of each. */

/* Adds the steps that write settings. */
void shares_plan(struct plan *p, bool own);
/* Returns the environment of pid 1, with HOLDER_LIMITS for PIDS processes. It lives as long as the plan. */
const char *const *shares_environment(struct plan *p, bool own, uint64_t pids);
