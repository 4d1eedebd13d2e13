/*
 * Starts other programs. From descriptor 3 on, the child gets only the listed descriptors. The
 * child gets default signal actions and an empty signal mask.
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
	const char *const *envp;           /* NULL for an empty environment */
	struct spawn_fd fd[SPAWN_FDS_MAX]; /* the child loses all other descriptors from 3 on */
	size_t n_fds;
	bool new_session; /* call setsid(): the program goes on when the caller's terminal closes */
	bool tied;        /* the kernel kills the program when the thread that started it ends */
	int cwd_fd; /* the directory in which the program starts; callers must set -1 for none */
};

/* Starts a program and returns after the exec. If the exec fails, for example because the program
 * does not exist, this call fails. */
MUST_USE int spawn(const struct spawn *s, struct child *ret, struct err *e);

/* These two functions together do the same as spawn(), for a caller that does other work while
 * the program starts. The struct spawn and everything that it points to must not change before
 * spawn_end(). The caller may close the descriptors after spawn_begin(). */
struct spawning;
MUST_USE int spawn_begin(const struct spawn *s, struct spawning **ret, struct err *e);
MUST_USE int spawn_end(struct spawning *p, struct child *ret, struct err *e);

/* Runs argv[0], a program of the system (base/program.h), with stdio on /dev/null. */
MUST_USE int spawn_path(const char *const *argv, struct child *ret, struct err *e);
/* Does the same as spawn_path(), with IN as the program's stdin. The program keeps IN open while it
 * runs, so a lock on IN stays held. */
MUST_USE int spawn_path_with(const char *const *argv, int in, struct child *ret, struct err *e);
/* Waits for the child and sets *RET_STATUS to its wait status. Returns 0 or -errno. */
MUST_USE int child_wait(struct child *c, int *ret_status);
