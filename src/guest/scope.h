/*
 * A kill scope: everything one command started, however it hid.
 *
 * Where pid 1 holds a delegated cgroup v2 directory, each command gets a group of its own and
 * cgroup.kill ends it at once. Elsewhere each command is cloned with a UTS namespace that nothing
 * inside can leave (the payload owns no namespace, and the filter refuses unshare and setns); pid 1
 * kills whatever still shows that namespace, pass after pass, until a pass finds none. A fork bomb
 * can outrun such passes, so after SCOPE_PASSES_NS everything in the sandbox is ended instead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SCOPE_PASSES_NS 1000000000ull

struct scopes {
	int payload; /* delegated cgroup directory, or -1: marks are used */
	unsigned next;
	struct {
		int group, events;
		unsigned number;
	} spare[16]; /* groups of ended commands, to be used again when empty */
	unsigned n_spare;
};

struct scope {
	int group;       /* directory, or -1 */
	int events;      /* its cgroup.events once it was used: is anybody left? */
	unsigned number; /* of the group: its name */
	bool killed; /* such a group is never used again: newer kernels kill who is born in it */
	int mark;    /* open UTS namespace, or -1; holding it keeps its number from reuse */
	uint64_t mark_ino;
	uint64_t deadline; /* of the passes */
};

#define SCOPE_NONE ((struct scope){ .group = -1, .events = -1, .mark = -1 })

/* PAYLOAD is taken; groups are used only if the kernel can kill by group. */
void scopes_init(struct scopes *s, int payload);
/* Before the clone: the group for the next command, or -1 (then clone with a mark). */
void scope_open(struct scopes *s, struct scope *ret);
/* After the clone. */
void scope_mark(struct scope *c, pid_t pid);
enum scope_state { SCOPE_DONE, SCOPE_AGAIN, SCOPE_SWEPT };
/* Kills. AGAIN: call once more after letting the loop turn; SWEPT: everything was ended. */
enum scope_state scope_kill(struct scope *c);
/* The command ended, its background children may live on. */
void scope_close(struct scopes *s, struct scope *c);
