/*
 * Starting other programs: the only general way in the project to make a process that executes
 * something. The child gets exactly the descriptors listed, default signals and an empty mask.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct child {
	pid_t pid;
	int pidfd;
};

struct spawn_fd {
	int from, to;
};

#define SPAWN_FDS_MAX 16

struct spawn {
	const char *path; /* executed as it is; PATH is not searched */
	const char *const *argv;
	const char *const *envp;           /* NULL: empty */
	struct spawn_fd fd[SPAWN_FDS_MAX]; /* everything else but 0..2 is closed */
	size_t n_fds;
	bool new_session; /* setsid: survives the caller's terminal */
	int cwd_fd;       /* fchdir there when >= 0; zero-initialised structs must set -1 */
};

/* Waits until the exec happened: a missing program is this call's error. */
MUST_USE int spawn(const struct spawn *s, struct child *ret, struct err *e);

/* The same in two calls, for who has something to do meanwhile. Until the second neither the struct
 * nor what it points to may change; descriptors may. */
struct spawning;
MUST_USE int spawn_begin(const struct spawn *s, struct spawning **ret, struct err *e);
MUST_USE int spawn_end(struct spawning *p, struct child *ret, struct err *e);

/* Where the fixed system path has NAME, allocated; or NULL. Not the caller's PATH: what is run from
 * there may be set-user-id or hold our descriptors. */
char *program_path(const char *name);
/* argv[0] looked up in the fixed system path, stdio on /dev/null. */
MUST_USE int spawn_path(const char *const *argv, struct child *ret, struct err *e);
/* The same with IN as its stdin, also to hold for it what IN holds: a lock, say. */
MUST_USE int spawn_path_with(const char *const *argv, int in, struct child *ret, struct err *e);
/* Reaps; the wait status. -errno. */
MUST_USE int child_wait(struct child *c, int *ret_status);
