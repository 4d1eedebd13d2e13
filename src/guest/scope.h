/*
 * A scope: all processes that one command started, even if they try to hide.
 *
 * If pid 1 has a delegated cgroup v2 directory, and the kernel can kill a whole group, each command
 * gets a group of its own, and pid 1 freezes and kills the group. Otherwise each command starts in
 * a UTS namespace of its own, and this namespace is the command's mark. No process of the payload
 * can get rid of its mark, because the payload owns no namespace, and the filter refuses unshare
 * and setns. To kill a scope, pid 1 looks for all processes with the mark and kills them. pid 1
 * repeats such passes until a pass finds no process. A fork bomb can be faster than such passes, so
 * after SCOPE_PASSES_NS pid 1 kills every process in the sandbox.
 *
 * When a scope is empty, a later command uses it again. The scope may have got a launcher by then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/launcher.h"

#define SCOPE_PASSES_NS 1000000000ull
#define SCOPES_SPARE_MAX 16
/* each launcher takes 60 KiB; with four launchers, four commands can start fast at once */
#define SCOPES_LAUNCHERS_MAX 4

struct scope {
	int group;       /* the cgroup's directory, or -1 */
	int procs;       /* the group's cgroup.procs, opened after the first command; or -1 */
	unsigned number; /* the group's name is exec-NUMBER */
	/* The group was killed and cannot be used again: newer kernels kill every new process
	 * in it. */
	bool killed;
	/* the UTS namespace, or -1; while it is open, no other namespace gets its inode number */
	int mark;
	uint64_t mark_ino;
	uint64_t deadline;         /* the time at which pid 1 stops the passes */
	struct launcher *launcher; /* or NULL */
};

#define SCOPE_NONE ((struct scope){ .group = -1, .procs = -1, .mark = -1 })

struct scopes {
	int payload; /* the delegated cgroup directory; -1 if scopes are marks */
	/* the list of pid 1's children; -1 if it cannot be opened, or if scopes are groups and the
	 * sandbox is not watched */
	int children;
	pid_t deputy; /* a child of pid 1 that is no command (guest/deputy.h), or 0 */
	const struct exec_walls *walls;
	unsigned next;
	struct scope spare[SCOPES_SPARE_MAX]; /* scopes of ended commands; used again when empty */
	unsigned n_spare, n_launchers;
	bool expects_more; /* a first command has ended; from now on pid 1 may make launchers */
	bool pinned;       /* a launcher was moved to the CPU of pid 1 (scope_order()) */
	/* only if `pinned` is set: the commands of launchers may run on these CPUs */
	cpu_set_t cpus;
	bool ending;
};

/* Takes over PAYLOAD. Uses groups only if the kernel can kill a whole group. WALLS must outlive the
 * scopes. WATCHED must be true if scopes_are_free() will be called. */
void scopes_init(struct scopes *s, int payload, bool watched, const struct exec_walls *walls);
/* Returns true if PID is the deputy, or a launcher that waits for an order. */
bool scopes_own(const struct scopes *s, uint64_t pid);
/* Call this when PID was reaped, because from then on the number can belong to any other
 * process. */
void scopes_reaped(struct scopes *s, pid_t pid);
/* Returns true if the sandbox has no process except waiting launchers and the deputy. Returns false
 * if in doubt. */
bool scopes_are_free(const struct scopes *s);
/* Starts the command of A in the scope C. If C is SCOPE_NONE, first makes C an empty scope of an
 * ended command, or a new scope. Returns what exec_start() returns, or -1 if there is no scope. */
pid_t scope_start(struct scopes *s, struct scope *c, struct exec_args *a);
/* Lets a launcher start the command of A (launcher_order()). Returns false if no launcher is free,
 * or if A is too long for an order. CLIENT_IS_KEPT says that the client sends one command after
 * another. In this case the launcher first moves to the CPU of pid 1, because another CPU would
 * have to wake up. */
bool scope_order(struct scopes *s, struct scope *ret, const struct exec_args *a,
		 bool client_is_kept);
/* Removes the launcher, which has ended, from C and returns it. The caller frees the launcher. */
struct launcher *scope_release_launcher(struct scopes *s, struct scope *c);
/* Returns true if PID is the launcher of C. */
bool scope_owns(const struct scope *c, uint64_t pid);
enum scope_state { SCOPE_DONE, SCOPE_AGAIN, SCOPE_SWEPT };
/* Kills the processes of C. SCOPE_DONE means that no process of C runs any more. SCOPE_AGAIN means
 * that the caller must call again in a later turn of the loop. SCOPE_SWEPT means that the passes
 * took too long, and every process in the sandbox was killed. */
enum scope_state scope_kill(const struct scopes *s, struct scope *c);
/* Kills every process in the sandbox except pid 1 and the deputy. */
void scopes_kill(const struct scopes *s);
/* Sends SIG to every process in C except the launcher. For SIGKILL use scope_kill(). */
void scope_signal(const struct scope *c, int sig);
/* Call this when the command has ended. Returns true if the command certainly left no process
 * behind. */
bool scope_is_over(struct scopes *s, const struct scope *c);
/* Call this when the command has ended. Its background children may live on. Keeps the scope for a
 * later command, or releases the scope. */
void scope_close(struct scopes *s, struct scope *c);
/* Call this when no command will start any more. Ends the waiting launchers. */
void scopes_end(struct scopes *s);
