/*
 * A kill scope: everything one command started, however it hid.
 *
 * Where pid 1 holds a delegated cgroup v2 directory, each command gets a group of its own, which is
 * frozen and killed. Elsewhere each command is born in a UTS namespace of its own that nothing
 * inside can leave (the payload owns no namespace, and the filter refuses unshare and setns); pid 1
 * kills whatever still shows that namespace, pass after pass, until a pass finds none. A fork bomb
 * can outrun such passes, so after SCOPE_PASSES_NS everything in the sandbox is ended instead.
 *
 * A scope that nobody is left in serves again, with the launcher that it got meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/launcher.h"

#define SCOPE_PASSES_NS 1000000000ull
#define SCOPES_SPARE_MAX 16
#define SCOPES_LAUNCHERS_MAX 4 /* each has some 60 KiB; that many commands at once start fast */

struct scope {
	int group;       /* directory, or -1 */
	int procs;       /* its cgroup.procs once it was used: is anybody left? */
	unsigned number; /* of the group: its name */
	bool killed; /* such a group is never used again: newer kernels kill who is born in it */
	int mark;    /* open UTS namespace, or -1; holding it keeps its number from reuse */
	uint64_t mark_ino;
	uint64_t deadline;         /* of the passes */
	struct launcher *launcher; /* or NULL */
};

#define SCOPE_NONE ((struct scope){ .group = -1, .procs = -1, .mark = -1 })

struct scopes {
	int payload;  /* delegated cgroup directory, or -1: marks are used */
	int children; /* with marks, or watched: the list of our own children; or -1 */
	pid_t deputy; /* our child that is no command (guest/deputy.h), or 0 */
	const struct exec_walls *walls;
	unsigned next;
	struct scope spare[SCOPES_SPARE_MAX]; /* of ended commands, to be used again when empty */
	unsigned n_spare, n_launchers;
	bool expects_more; /* a second command came: there will be more */
	bool pinned;       /* a launcher was put where we are: scope_order() */
	cpu_set_t cpus;    /* … and its commands may run there */
	bool ending;
};

/* PAYLOAD is taken; groups are used only if the kernel can kill by group. WALLS stays the caller's. WATCHED:
 * scopes_are_free() will be asked. */
void scopes_init(struct scopes *s, int payload, bool watched, const struct exec_walls *walls);
/* PID is the deputy, or a launcher that waits. */
bool scopes_own(const struct scopes *s, uint64_t pid);
/* PID was reaped. Whoever gets the number now is neither the deputy nor a launcher. */
void scopes_reaped(struct scopes *s, pid_t pid);
/* Nobody is in the sandbox but launchers that wait; false where the kernel does not tell. */
bool scopes_are_free(const struct scopes *s);
/* Starts J in C, or in a scope of its own if C is SCOPE_NONE; as exec_start(). */
pid_t scope_start(struct scopes *s, struct scope *c, struct exec_job *j);
/* Has a launcher start it, if one is free: launcher_order(). For a client that has one command after another it does
 * so on our CPU: another one would have to be woken first. */
bool scope_order(struct scopes *s, struct scope *ret, const struct exec_job *j,
		 bool client_is_kept);
/* Takes the launcher, which has ended, out of C. The caller frees it. */
struct launcher *scope_release_launcher(struct scopes *s, struct scope *c);
/* PID is the launcher of C. */
bool scope_owns(const struct scope *c, uint64_t pid);
enum scope_state { SCOPE_DONE, SCOPE_AGAIN, SCOPE_SWEPT };
/* Kills. AGAIN: call once more after letting the loop turn; SWEPT: everything was ended. */
enum scope_state scope_kill(const struct scopes *s, struct scope *c);
/* Kills everyone but us and the deputy. */
void scopes_kill(const struct scopes *s);
/* Sends a signal to everything in it but its launcher; SIGKILL is scope_kill()'s. */
void scope_signal(const struct scope *c, int sig);
/* The command ended. True when it surely left nobody behind. */
bool scope_is_over(struct scopes *s, const struct scope *c);
/* The command ended, its background children may live on. */
void scope_close(struct scopes *s, struct scope *c);
/* No command will start any more: ends what waits for one. */
void scopes_end(struct scopes *s);
