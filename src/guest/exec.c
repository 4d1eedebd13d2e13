/*
 * The child, which will execute the command, is a copy of pid 1. The payload can neither trace the
 * child nor read its memory, because the memory is non-dumpable and belongs to the outer namespace.
 * The child makes system calls only. It does not share pid 1's memory (CLONE_VM). If it did, the
 * out-of-memory killer of the payload's group could choose the child and kill pid 1 with it. The
 * killer skips a child made by vfork(), but vfork() does not help either: pid 1 would have to wait
 * until the child executes the program. Root in the sandbox could stop the child before that, and
 * pid 1 would wait for ever.
 *
 * The order of the steps matters. The child installs the filter while it still has CAP_SYS_ADMIN
 * over the namespace that it has just joined. So the filter must allow all later calls of the
 * child. The child closes the descriptors of pid 1 before chdir, because a working directory such
 * as /proc/self/fd/7 would lead out of the sandbox (CVE-2024-21626).
 *
 * The work has two halves. exec_enter_walls() does the steps that are the same for all commands; a
 * launcher does them once for many commands (guest/launcher.c). exec_become() does the steps that
 * belong to one command.
 */
#include "guest/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/raw.h"

/* A set of capabilities has 64 bits. drop_capabilities() ends earlier, at the first number that the
 * kernel does not know. */
#define CAPABILITY_LAST 63
#define REPORT_FD 3 /* the child has only this descriptor and 0, 1, 2; the exec closes it */

long exec_join_cgroups(const struct exec_walls *w)
{
	for (unsigned i = 0; i < w->n_task_fds; i++) {
		/* write to `tasks`, not to cgroup.procs, because for a single thread the kernel
		 * takes no global lock */
		long r = RAW3(SYS_write, w->task_fd[i], "0", 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static long take_stdio(const struct exec_args *a)
{
	for (int i = 0; i < 3; i++) {
		long r = RAW3(SYS_dup3, a->stdio[i], i, 0);

		if (r < 0)
			return r;
	}
	return a->tty ? RAW3(SYS_ioctl, 0, TIOCSCTTY, 0) : 0;
}

static long close_others(struct exec_args *a)
{
	if (a->report_fd < 0)
		return RAW3(SYS_close_range, REPORT_FD, ~0u, 0);
	if (a->report_fd != REPORT_FD) {
		long r = RAW3(SYS_dup3, a->report_fd, REPORT_FD, O_CLOEXEC);

		if (r < 0)
			return r;
	}
	a->report_fd = REPORT_FD;
	return RAW3(SYS_close_range, REPORT_FD + 1, ~0u, 0);
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

static bool has_own_limit(const struct exec_args *a, uint32_t resource)
{
	for (size_t i = 0; i < a->n_rlimits; i++)
		if (a->rlimit[i].resource == resource)
			return true;
	return false;
}

/* Sets all limits of the command except RLIMIT_CORE. The command inherits RLIMIT_CORE from the
 * supervisor (base/confine.h). It cannot change RLIMIT_CORE, because the system call filter stops
 * every call that would set this limit. Returns 0 or -errno. */
static long set_limits(const struct exec_args *a)
{
	const struct exec_walls *w = a->walls;
	long r = set_limit(RLIMIT_NOFILE, w->nofile_soft, w->nofile_hard);

	if (r >= 0 && w->data_limit)
		r = set_limit(RLIMIT_DATA, w->data_limit, w->data_limit);
	if (r >= 0 && w->nproc_limit)
		r = set_limit(RLIMIT_NPROC, w->nproc_limit, w->nproc_limit);
	for (size_t i = 0; r >= 0 && i < w->n_rlimits; i++)
		/* skip a limit for which the command has its own value: this value may be higher,
		 * and a hard limit that was lowered cannot be raised again */
		if (!has_own_limit(a, w->rlimit[i].resource))
			r = set_limit(w->rlimit[i].resource, w->rlimit[i].soft, w->rlimit[i].hard);
	for (size_t i = 0; r >= 0 && i < a->n_rlimits; i++)
		r = set_limit(a->rlimit[i].resource, a->rlimit[i].soft, a->rlimit[i].hard);
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

static long become_user(const struct exec_args *a)
{
	const struct user *u = a->user;
	long r;

	if (!a->walls->single_id) {
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

/* Tries each candidate as a shell does. After -EACCES it goes on with the next candidate. Returns
 * only if no program was executed. Any error except -ENOENT, -ENOTDIR and -EACCES ends the search,
 * and execute() returns this error. After the last candidate it returns -EACCES if any candidate
 * gave -EACCES, otherwise -ENOENT. */
static long execute(const struct exec_args *a)
{
	long worst = -ENOENT;

	for (const char *const *p = a->paths; *p; p++) {
		long r = RAW3(SYS_execve, *p, a->argv, a->envp);

		if (r == -ENOENT || r == -ENOTDIR)
			continue;
		if (r != -EACCES)
			return r;
		worst = r;
	}
	return worst;
}

static _Noreturn void fail(struct exec_args *a, enum exec_failure f, long r)
{
	a->report = (struct exec_report){ f, (int)-r };
	if (a->report_fd >= 0)
		RAW3(SYS_write, a->report_fd, &a->report, sizeof(a->report));
	raw_exit(EXEC_AGENT_FAILED);
}

long exec_enter_walls(const struct exec_walls *w, const struct sock_filter *filter,
		      enum exec_failure *ret)
{
	long r;

	*ret = EXEC_INTERNAL;
	if ((r = exec_join_cgroups(w)) < 0) {
		if (r == -EAGAIN)
			*ret = EXEC_RESOURCE;
		return r;
	}
	if ((r = RAW2(SYS_setns, w->userns, CLONE_NEWUSER)) < 0) {
		*ret = EXEC_USER;
		return r;
	}
	/* a new cgroup namespace hides the host's names of groups in /proc/self/cgroup. The payload
	 * owns this new namespace. This is harmless: the owner of a cgroup namespace can at most
	 * mount cgroups, and only if it also owns the mount namespace. The payload does not own the
	 * mount namespace */
	if ((r = RAW1(SYS_unshare, CLONE_NEWCGROUP)) < 0)
		return r;
	if ((r = install_filter(w, filter)) < 0)
		return r;
	return drop_capabilities(w->restricted);
}

_Noreturn void exec_become(struct exec_args *a)
{
	unsigned long no_signals = 0;
	long r;

	RAW0(SYS_setsid);
	if ((r = take_stdio(a)) < 0)
		fail(a, a->tty ? EXEC_PTY : EXEC_INTERNAL, r);
	if ((r = close_others(a)) < 0)
		fail(a, EXEC_INTERNAL, r);
	if ((r = set_limits(a)) < 0)
		fail(a, EXEC_RESOURCE, r);
	if ((r = become_user(a)) < 0)
		fail(a, EXEC_USER, r);
	if ((r = RAW1(SYS_chdir, a->cwd)) < 0)
		fail(a, EXEC_BAD_CWD, r);
	RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, 8);
	if (a->agent)
		raw_exit(a->agent(a->agent_arg));
	r = execute(a);
	fail(a, spawn_failure(r), r);
}

static _Noreturn void run(struct exec_args *a)
{
	enum exec_failure failure;
	/* A file agent needs openat2. In a sandbox with SWITCH_SHARED, the filter of commands
	 * refuses openat2. So an agent gets seccomp_filter, in which all switches are off
	 * (seccomp.h). This is safe: if an agent makes a call that could leave a set-user-id file,
	 * a set-group-id file or a file with capabilities on the host, the deputy (guest/deputy.h)
	 * handles this call. */
	long r = exec_enter_walls(a->walls, a->agent ? seccomp_filter : a->walls->filter, &failure);

	if (r < 0)
		fail(a, failure, r);
	exec_become(a);
}

struct exec_report exec_clone_report(long r)
{
	return (struct exec_report){ r == -EAGAIN   ? EXEC_RESOURCE
				     : r == -ENOMEM ? EXEC_NO_MEMORY
						    : EXEC_INTERNAL,
				     (int)-r };
}

pid_t exec_start(struct exec_args *a)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (a->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)a->cgroup;
	}
	a->report = (struct exec_report){ EXEC_OK, 0 };
	/* all signals are blocked in pid 1, which reads them from a signalfd. So no handler can
	 * run in the child */
	pid = RAW2(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		run(a);
	if (pid < 0) {
		a->report = exec_clone_report(pid);
		return -1;
	}
	return (pid_t)pid;
}
