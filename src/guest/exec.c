/*
 * The child borrows pid 1's memory until it executes (CLONE_VM | CLONE_VFORK): cheap, and its failure is
 * simply written into the job. That memory is non-dumpable and belongs to the outer namespace, so the payload
 * can neither trace nor read the child while it shares it. The child makes system calls only. An agent
 * is forked instead: it stays in our code for long, on a copy of our memory that is as unreadable to the
 * payload as the original.
 *
 * Order matters. The filter goes in while we still have CAP_SYS_ADMIN over the namespace just joined;
 * all that follows must pass it. Descriptors of pid 1 are closed before chdir, or a working directory
 * such as /proc/self/fd/7 would lead out (CVE-2024-21626).
 *
 * Two halves: what all commands share, which a launcher enters once for many (guest/launcher.c), and
 * what is this command's own.
 *
 * Once it has joined the payload's namespace, root in there can stop it, and whoever waits for its exec waits for
 * ever. So that is not pid 1, unless nobody else is there yet, but a process which does nothing else
 * (struct waiter). Not to wait that way at all would not do: only of a process that somebody waits for does
 * the kernel know, when it looks for one to kill for memory, that the memory is another's.
 */
#include "guest/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/raw.h"

#define STACK_BYTES 32768
#define WAITER_STACK_BYTES 4096
#define WAITERS_MAX 100 /* for one command: who kills them all, without a break, ends it as well */
#define LOOK_AFTER_NS (10 * NS_PER_MS) /* long after a command has begun: is it stopped? */
#define CAPABILITY_LAST 63             /* dropping stops at the first the kernel does not know */

static _Alignas(16) char child_stack[STACK_BYTES];
static _Alignas(16) char waiter_stack[WAITER_STACK_BYTES];

static long join_cgroups(const struct exec_walls *w)
{
	for (unsigned i = 0; i < w->n_task_fds; i++) {
		/* `tasks`, not cgroup.procs: a single thread moves without the global lock */
		long r = RAW3(SYS_write, w->task_fd[i], "0", 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static long take_stdio(const struct exec_job *j)
{
	for (int i = 0; i < 3; i++) {
		long r = RAW3(SYS_dup3, j->stdio[i], i, 0);

		if (r < 0)
			return r;
	}
	return j->tty ? RAW3(SYS_ioctl, 0, TIOCSCTTY, 0) : 0;
}

static long install_filter(const struct exec_walls *w, const struct sock_filter *filter)
{
	struct sock_fprog prog = { seccomp_filter_len, (struct sock_filter *)filter };

	if (w->restricted) {
		long r = RAW5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

		if (r < 0)
			return r;
	}
	return RAW3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

static long set_limit(unsigned resource, uint64_t soft, uint64_t hard)
{
	struct {
		uint64_t soft, hard;
	} l = { soft, hard };

	return RAW4(SYS_prlimit64, 0, resource, &l, NULL);
}

static bool has_own_limit(const struct exec_job *j, uint32_t resource)
{
	for (size_t i = 0; i < j->n_rlimits; i++)
		if (j->rlimit[i].resource == resource)
			return true;
	return false;
}

static long set_limits(const struct exec_job *j)
{
	const struct exec_walls *w = j->walls;
	long r = set_limit(RLIMIT_NOFILE, w->nofile_soft, w->nofile_hard);

	if (r >= 0)
		r = set_limit(RLIMIT_CORE, 0,
			      0); /* a core pattern may start a program on the host */
	if (r >= 0 && w->data_limit)
		r = set_limit(RLIMIT_DATA, w->data_limit, w->data_limit);
	if (r >= 0 && w->nproc_limit)
		r = set_limit(RLIMIT_NPROC, w->nproc_limit, w->nproc_limit);
	for (size_t i = 0; r >= 0 && i < w->n_rlimits; i++)
		if (!has_own_limit(j, w->rlimit[i].resource)) /* which may be above it */
			r = set_limit(w->rlimit[i].resource, w->rlimit[i].soft, w->rlimit[i].hard);
	for (size_t i = 0; r >= 0 && i < j->n_rlimits; i++)
		r = set_limit(j->rlimit[i].resource, j->rlimit[i].soft, j->rlimit[i].hard);
	return r;
}

static long drop_capabilities(bool restricted)
{
	uint64_t keep = restricted ? 0 : EXEC_CAPABILITIES;

	for (unsigned cap = 0; cap <= CAPABILITY_LAST; cap++) {
		if (keep >> cap & 1)
			continue;
		long r = RAW5(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);

		if (r == -EINVAL)
			break;
		if (r < 0)
			return r;
	}
	return 0;
}

static long become_user(const struct exec_job *j)
{
	const struct user *u = j->user;
	long r;

	if (!j->walls->single_id) {
		r = RAW2(SYS_setgroups, u->n_groups, u->group);
		if (r < 0)
			return r;
	}
	r = RAW3(SYS_setresgid, u->gid, u->gid, u->gid);
	if (r >= 0)
		r = RAW3(SYS_setresuid, u->uid, u->uid, u->uid);
	return r;
}

static enum exec_failure spawn_failure(long r)
{
	switch (-r) {
	case ENOENT:
	case ENOTDIR:
		return EXEC_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EISDIR:
		return EXEC_DENIED;
	case ENOEXEC:
	case ELIBBAD:
	case EINVAL:
	case ETXTBSY:
		return EXEC_NOT_EXECUTABLE;
	case E2BIG:
		return EXEC_BAD_ARGS;
	case ENOMEM:
		return EXEC_NO_MEMORY;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return EXEC_RESOURCE;
	default:
		return EXEC_DENIED;
	}
}

/* Tries each candidate like a shell: a permission error is remembered, the search goes on. */
static long execute(const struct exec_job *j)
{
	long worst = -ENOENT;

	for (const char *const *p = j->paths; *p; p++) {
		long r = RAW3(SYS_execve, *p, j->argv, j->envp);

		if (r == -ENOENT || r == -ENOTDIR)
			continue;
		if (r != -EACCES)
			return r;
		worst = r;
	}
	return worst;
}

static _Noreturn void fail(struct exec_job *j, enum exec_failure f, long r)
{
	j->failure = f;
	j->err = (int)-r;
	raw_exit(EXEC_AGENT_FAILED);
}

long exec_enter_walls(const struct exec_walls *w, const struct sock_filter *filter,
		      enum exec_failure *ret)
{
	long r;

	*ret = EXEC_INTERNAL;
	if ((r = join_cgroups(w)) < 0) {
		if (r == -EAGAIN)
			*ret = EXEC_RESOURCE;
		return r;
	}
	if ((r = RAW2(SYS_setns, w->userns, CLONE_NEWUSER)) < 0) {
		*ret = EXEC_USER;
		return r;
	}
	/* hides the host's names of groups in /proc/self/cgroup. The only namespace of the payload's own:
	 * it is good for nothing but mounting, which takes the mount namespace too */
	if ((r = RAW1(SYS_unshare, CLONE_NEWCGROUP)) < 0)
		return r;
	if ((r = install_filter(w, filter)) < 0)
		return r;
	return drop_capabilities(w->restricted);
}

_Noreturn void exec_become(struct exec_job *j)
{
	unsigned long no_signals = 0;
	long r;

	RAW0(SYS_setsid);
	if ((r = take_stdio(j)) < 0)
		fail(j, j->tty ? EXEC_PTY : EXEC_INTERNAL, r);
	if ((r = RAW3(SYS_close_range, 3, ~0u, 0)) < 0)
		fail(j, EXEC_INTERNAL, r);
	if ((r = set_limits(j)) < 0)
		fail(j, EXEC_RESOURCE, r);
	if ((r = become_user(j)) < 0)
		fail(j, EXEC_USER, r);
	if ((r = RAW1(SYS_chdir, j->cwd)) < 0)
		fail(j, EXEC_BAD_CWD, r);
	RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, 8);
	if (j->agent)
		raw_exit(j->agent(j->agent_arg));
	r = execute(j);
	fail(j, spawn_failure(r), r);
}

static void run(void *arg)
{
	struct exec_job *j = arg;
	enum exec_failure failure;
	/* our own code gives no file a privilege but by calls that the deputy sees, and opens files by a call that
	 * is refused to commands for that reason */
	long r = exec_enter_walls(j->walls, j->agent ? seccomp_filter : j->walls->filter, &failure);

	if (r < 0)
		fail(j, failure, r);
	exec_become(j);
}

enum exec_failure exec_clone_failure(long r)
{
	return r == -EAGAIN ? EXEC_RESOURCE : r == -ENOMEM ? EXEC_NO_MEMORY : EXEC_INTERNAL;
}

struct waiter {
	struct clone_args args; /* of the command */
	struct exec_job *job;
	long r;              /* of its clone */
	volatile pid_t pid;  /* of the command, once there is one */
	volatile int shares; /* it has our memory; the kernel clears this when that is over */
	volatile int waits;  /* the waiter's own pid; likewise */
};

static void wait_for_exec(void *arg)
{
	struct waiter *w = arg;

	w->r = raw_clone_on_stack(&w->args, run, w->job);
	raw_exit(0);
}

static void kill_if_stopped(pid_t pid)
{
	siginfo_t si = { 0 };

	if (pid > 0 && waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
	    si.si_pid == pid)
		kill(pid, SIGKILL);
}

/* Until the kernel has cleared WORD. Who was stopped on the way is killed: with one id only that can be the
 * waiter, too. */
static void await(const struct waiter *w, const volatile int *word)
{
	const struct timespec look_after = { .tv_nsec = LOOK_AFTER_NS };
	int now;

	while ((now = *word) != 0)
		if (RAW4(SYS_futex, word, FUTEX_WAIT, now, &look_after) == -ETIMEDOUT) {
			kill_if_stopped(w->pid);
			kill_if_stopped(w->waits);
		}
}

/* The command's pid or -errno; -EINTR: somebody killed the waiter before there was a command. */
static long try_by_waiter(const struct clone_args *command, struct exec_job *j)
{
	struct waiter w = { .args = *command, .job = j, .r = -EINTR, .shares = 1 };
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		.parent_tid = (uintptr_t)&w.waits,
		.child_tid = (uintptr_t)&w.waits,
		.exit_signal = SIGCHLD, /* and so is that of its sibling */
		.stack = (uintptr_t)waiter_stack,
		.stack_size = sizeof(waiter_stack),
	};
	long waiter;

	w.args.flags |= CLONE_PARENT | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	w.args.parent_tid = (uintptr_t)&w.pid;
	w.args.child_tid = (uintptr_t)&w.shares;
	w.args.exit_signal = 0;
	waiter = raw_clone_on_stack(&args, wait_for_exec, &w);
	if (waiter < 0)
		return waiter;
	await(&w, &w.waits);
	if (w.pid > 0)
		await(&w, &w.shares); /* also when somebody killed the waiter */
	IGNORE(waitpid((pid_t)waiter, NULL, __WALL));
	return w.pid > 0 ? w.pid : w.r;
}

/* As raw_clone_on_stack() with CLONE_VFORK, but whoever stops the command does not stop us. */
static long clone_by_waiter(const struct clone_args *command, struct exec_job *j)
{
	long r = -EINTR;

	for (unsigned i = 0; r == -EINTR && i < WAITERS_MAX; i++)
		r = try_by_waiter(command, j);
	return r == -EINTR ? -EAGAIN : r;
}

pid_t exec_start(struct exec_job *j)
{
	static bool others; /* a command was started before */
	struct clone_args args = {
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (j->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)j->cgroup;
	}
	j->failure = EXEC_OK;
	j->err = 0;
	/* signals stay blocked in pid 1 for good (signalfd), so none can run in the child */
	if (j->agent) {
		pid = RAW2(SYS_clone3, &args, sizeof(args)); /* a plain fork */
		if (pid == 0)
			run(j);
	} else {
		args.flags |= CLONE_VM | CLONE_VFORK;
		args.stack = (uintptr_t)child_stack;
		args.stack_size = sizeof(child_stack);
		pid = others ? clone_by_waiter(&args, j) : raw_clone_on_stack(&args, run, j);
	}
	others = true;
	if (pid < 0) {
		j->failure = exec_clone_failure(pid);
		j->err = (int)-pid;
		return -1;
	}
	return (pid_t)pid;
}
