/*
 * A launcher is a process of ours that waits behind the payload's walls and clones commands, which
 * are then behind the same walls. The launcher installs the filter and enters the namespaces and
 * the control groups once, so that its commands need not do so. With a launcher, a short command
 * needs a quarter less time.
 *
 * A launcher belongs to one scope (guest/scope.h), which has a control group or a UTS namespace of
 * its own. The commands of the launcher, one after the other, inherit this group or namespace, but
 * they are children of pid 1. The launcher has a copy of pid 1's memory and shares pid 1's
 * descriptors. The payload cannot read the launcher's memory. pid 1 writes each order into memory
 * that pid 1 and the launcher share. Root in the sandbox can kill or stop a launcher, because the
 * launcher is in the payload's user namespace. If this happens, pid 1 starts the command itself
 * (guest/start.c).
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"

struct launcher;

/* Makes a launcher in the control group CGROUP. If CGROUP is -1, makes the launcher in a new UTS
 * namespace instead. After a failure, returns NULL; pid 1 then starts commands without a
 * launcher. */
struct launcher *launcher_new(const struct exec_walls *w, int cgroup);
/* Returns the launcher's pid, or -1 after the launcher was reaped. */
pid_t launcher_pid(const struct launcher *l);
/* Call this for every process PID that was reaped. If PID was the launcher, launcher_pid() returns
 * -1 from now on, because the kernel may give the same pid to a command. */
void launcher_reaped(struct launcher *l, pid_t pid);
/* Orders the launcher to start the command of A, and does not wait for the start. The caller must
 * keep the descriptors of A open until launcher_command() is not 0. CPUS says on which CPUs the
 * command may run; NULL means the CPUs of the launcher. If the command's program cannot be
 * executed, the command's process ends at once. Returns false if A is too long for an order. */
bool launcher_order(struct launcher *l, const struct exec_args *a, const cpu_set_t *cpus);
/* Returns the arguments in the last order. The member `report` of these arguments says whether the
 * clone or the exec failed. This report is final only when the command's process has ended. */
struct exec_args *launcher_args(const struct launcher *l);
/* Returns the pid of the ordered command, or 0 while the command has no process. */
pid_t launcher_command(const struct launcher *l);
/* Returns true if the ordered command may still begin: the launcher lives, and it has not failed to
 * clone the command. */
bool launcher_may_begin(const struct launcher *l);
/* Kills the launcher and frees L, which may be NULL. sessions_reap() reaps the process. */
void launcher_free(struct launcher *l);
/* Kills the launcher. After the launcher was reaped, the result of launcher_command() is final. */
void launcher_kill(struct launcher *l);
