/* Clones a process that enters the payload's user namespace and control groups, installs the
 * payload's filter, and executes a command. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/seccomp.h"
#include "guest/users.h"
#include "wire/message.h"

#define EXEC_TASK_FDS_MAX 8

/* What every command of this sandbox shares. */
struct exec_walls {
	int userns;                     /* the user namespace of the payload */
	int task_fd[EXEC_TASK_FDS_MAX]; /* cgroup v1 `tasks` files */
	unsigned n_task_fds;
	/* the filter of system calls for commands of this sandbox */
	const struct sock_filter *filter;
	bool restricted;
	bool single_id; /* the namespace has only one id, so supplementary groups cannot be set */
	uint64_t nofile_soft, nofile_hard;
	uint64_t data_limit, nproc_limit;
	/* the sandbox's limits; a command's own limits replace them */
	const struct exec_rlimit *rlimit;
	size_t n_rlimits;
};

/* Why a command could not be executed, or EXEC_OK. */
struct exec_report {
	enum exec_failure failure;
	int err;
};

/* The arguments of exec_start() and exec_become(): what the process of one command needs. */
struct exec_args {
	const struct exec_walls *walls;
	const char *const *paths; /* candidates to execute, in order, NULL-terminated */
	const char *const *argv;
	const char *const *envp;
	const char *cwd;
	const struct user *user;
	int stdio[3];
	bool tty; /* stdio[0] becomes the controlling terminal */
	const struct exec_rlimit *rlimit;
	size_t n_rlimits;
	int cgroup; /* directory of this command's own group, or -1 */
	/* A function of ours that runs instead of a program, or NULL. It runs behind the same walls
	 * as a program, in a copy of pid 1's memory. It reads and writes stdio, and its result is
	 * the exit status. With such a function, the members `paths`, `argv` and `envp` are not
	 * used. */
	int (*agent)(const void *arg);
	const void *agent_arg;
	int report_fd; /* the pipe for the report, or -1; a successful exec closes it */
	struct exec_report report;
};

/* exit status of a child that could not execute its program or run its agent function */
#define EXEC_AGENT_FAILED 127
/* Clones the process and returns its pid without waiting for the exec. If the clone fails, returns
 * -1 and sets the report in A. If a later step fails, the child writes the report into its own copy
 * of A and to report_fd. */
pid_t exec_start(struct exec_args *a);

/* Joins the cgroup v1 groups of the payload. Returns 0 or -errno. */
long exec_join_cgroups(const struct exec_walls *w);
/* The child of exec_start() calls the next two functions, and so do launchers (guest/launcher.c).
 * Both functions make only system calls. */
/* Enters the walls that all commands share, and installs FILTER. Returns 0, or -errno and the kind
 * of failure in RET. */
long exec_enter_walls(const struct exec_walls *w, const struct sock_filter *filter,
		      enum exec_failure *ret);
/* Becomes the command of A. If that fails, the report of A says why. */
_Noreturn void exec_become(struct exec_args *a);
/* Returns the report for a command whose clone failed with R (-errno). */
struct exec_report exec_clone_report(long r);

/* The capabilities that a command has over its own user namespace. */
#define EXEC_CAPABILITIES                                                                    \
	(1ull << 0 | 1ull << 1 | 1ull << 3 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 7 | \
	 1ull << 8 | 1ull << 10 | 1ull << 18 | 1ull << 29 | 1ull << 31)
