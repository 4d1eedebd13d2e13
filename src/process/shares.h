/*
 * Limits how much one sandbox may use of the resources that the kernel counts per user of the
 * machine.
 *
 * The kernel counts processes, queued signals, POSIX message queues and locked memory for a user
 * namespace and for all namespaces above it. A user namespace gets its limits from the process that
 * makes it. So pid 1 first takes the limits that shares_environment() names (base/holder.h), and
 * then makes the payload's namespace. These limits hold for all ids of the payload together. For
 * inotify, each user namespace has settings instead. The child writes them before it executes
 * pid 1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/plan.h"

/* The kernel charges what a sandbox uses to the id that made its outer user namespace. The
 * parameter OWN of both functions says whose id this is. If OWN is true, the id belongs to the
 * sandbox's own range, so the sandbox shares the limits of this id with nobody. If OWN is false,
 * the id belongs to the user who runs cordon. Then the sandbox gets half of this user's limits of
 * signals, message queues, locked memory and inotify. */

/* If OWN is false, adds the steps by which the child halves the inotify settings of its user
 * namespace. */
void shares_plan(struct plan *p, bool own);
/* Returns the environment of pid 1. Its only variable, HOLDER_LIMITS, holds the limits: PIDS
 * processes for the payload and, if OWN is false, the halves. The result lives as long as the plan.
 * */
const char *const *shares_environment(struct plan *p, bool own, uint64_t pids);
