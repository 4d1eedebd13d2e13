/*
 * What one sandbox may take at most of what the kernel counts per user of the machine.
 *
 * The kernel counts processes, queued signals, POSIX queues and locked memory in every user namespace up to the first
 * one, and a user namespace keeps as its own limits those that its maker had. So pid 1 makes the payload's
 * namespace under the limits that shares_encode() names (base/holder.h), and these then hold for all ids inside
 * together. Inotify has settings per user namespace instead, which the child writes.
 */
#pragma once

#include <stdint.h>

#include "process/ids.h"
#include "process/plan.h"

/* The steps for what has settings. */
void shares_plan(struct plan *p, const struct ids *ids);
/* The environment of pid 1, which lives as long as the plan: HOLDER_LIMITS for PIDS processes. */
const char *const *shares_environment(struct plan *p, const struct ids *ids, uint64_t pids);
