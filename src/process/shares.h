/*
 * What one sandbox may take at most of what the kernel counts per user of the machine.
 *
 * The kernel counts processes, queued signals, POSIX queues and locked memory in every user namespace up to the first
 * one, and a user namespace keeps as its own limits those that its maker had. So pid 1 makes the payload's
 * namespace under the limits that shares_environment() names (base/holder.h), and these then hold for all ids inside
 * together. Inotify has settings per user namespace instead, which the child writes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/plan.h"

/* OWN: an id of the sandbox's own makes the outer user namespace, so nobody else takes from what that id has. Without it the
 * sandbox takes from what its caller has: a half, so that one sandbox alone never takes all of it. */

/* The steps for what has settings. */
void shares_plan(struct plan *p, bool own);
/* The environment of pid 1, which lives as long as the plan: HOLDER_LIMITS for PIDS processes. */
const char *const *shares_environment(struct plan *p, bool own, uint64_t pids);
