/*
 * A process of ours that waits behind the walls and starts commands there: a filter, a namespace and
 * groups are entered once instead of by each of them, which is a quarter of what a short one takes.
 *
 * It belongs to one kill scope, whose group or mark its commands inherit. They are children of pid 1
 * all the same. It has a copy of pid 1's memory, as unreadable to the payload as the original, and
 * shares its descriptors; an order is written into memory that both see. The payload's root can
 * kill or stop it, being root of the namespace that it joined: then commands are started without one.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"

struct launcher;

/* In the group CGROUP, or with a mark of its own (-1). NULL: do without. */
struct launcher *launcher_new(const struct exec_walls *w, int cgroup);
/* -1 once it was reaped. */
pid_t launcher_pid(const struct launcher *l);
/* PID was reaped: from here on a command can have the number. */
void launcher_reaped(struct launcher *l, pid_t pid);
/* Orders the command of J, whose descriptors must stay open until there is one. It is free to run on CPUS
 * or, with NULL, where the launcher may. Nobody waits for it: a command that cannot be executed ends at
 * once, as every other does. False: it is too long for us. */
bool launcher_order(struct launcher *l, const struct exec_job *j, const cpu_set_t *cpus);
/* What was ordered last, with its failure if the command has ended. */
struct exec_job *launcher_job(const struct launcher *l);
/* Its command's pid, or 0 while there is none. */
pid_t launcher_command(const struct launcher *l);
/* There may be one yet: it lives, and has not failed. */
bool launcher_may_begin(const struct launcher *l);
/* Ends it; NULL is fine. */
void launcher_free(struct launcher *l);
/* Kills the launcher and waits for it. Afterwards launcher_command() does not change any more. */
void launcher_end(struct launcher *l);
