/*
 * A launcher is a process of ours that waits behind the walls and clones commands there. It enters the filter, the
 * namespaces and the groups once, so that its commands need not. This saves a quarter of a short command's time.
 *
 * A launcher belongs to one kill scope, and its commands inherit the group or mark of that scope, but they are
 * children of pid 1. It has a copy of pid 1's memory, which the payload cannot read either, and shares pid 1's
 * descriptors. pid 1 writes an order into memory that both see. Root inside can kill or stop a launcher, because the
 * launcher is in the payload's user namespace. Then pid 1 starts the command itself (guest/start.c).
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"

struct launcher;

/* Makes a launcher in the group CGROUP or, with -1, with a mark of its own. Returns NULL on failure; then pid 1 starts
 * commands without a launcher. */
struct launcher *launcher_new(const struct exec_walls *w, int cgroup);
/* Returns the launcher's pid, or -1 after the launcher was reaped. */
pid_t launcher_pid(const struct launcher *l);
/* Call it when PID was reaped: from now on the number can belong to a command. */
void launcher_reaped(struct launcher *l, pid_t pid);
/* Orders the command of J and does not wait for it. The caller keeps the descriptors of J open until launcher_command() is
 * not 0. The command may run on CPUS or, with NULL, where the launcher may. If its program cannot be executed, the
 * process ends at once. Returns false if J is too long for an order. */
bool launcher_order(struct launcher *l, const struct exec_job *j, const cpu_set_t *cpus);
/* Returns the job of the last order. Its report is final when the command's process has ended. */
struct exec_job *launcher_job(const struct launcher *l);
/* Returns the pid of the ordered command, or 0 while it has no process. */
pid_t launcher_command(const struct launcher *l);
/* Returns true if the launcher lives and its clone has not failed: the command may still begin. */
bool launcher_may_begin(const struct launcher *l);
/* Kills the launcher and frees L, which may be NULL. sessions_reap() reaps the process. */
void launcher_free(struct launcher *l);
/* Kills the launcher. After it was reaped, the result of launcher_command() is final. */
void launcher_kill(struct launcher *l);
