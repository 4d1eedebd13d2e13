/*
 * Starts programs by a clone that works like vfork. The child runs in our memory, on a stack of its
 * own, and makes only system calls until exec. spawn() sleeps until the exec, and spawn_begin()
 * returns at once. If a step fails, the child writes the error into the shared struct, so no
 * failure gets lost.
 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/program.h"
#include "base/raw.h"

#define STACK_BYTES 16384
#define KERNEL_SIGSET_BYTES 8

/* What the child shares with this process. The child sets `err` if one of its steps fails. */
struct shared {
	const struct spawn *s;
	pid_t parent;
	int err;
};

struct spawning {
	struct shared shared;
	struct child child;
	/* thread id of the child; the kernel sets this to 0 when the child leaves our memory */
	volatile int shares;
	_Alignas(16) char stack[STACK_BYTES];
};

struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

/* Puts each listed descriptor at its target number. First duplicates every source to a number above
 * all targets, so that no target overwrites a source. */
static long place_fds(const struct spawn *s)
{
	int lifted[SPAWN_FDS_MAX];
	int above = 0;

	for (size_t i = 0; i < s->n_fds; i++)
		above = s->fd[i].to >= above ? s->fd[i].to + 1 : above;
	for (size_t i = 0; i < s->n_fds; i++) {
		long r = RAW3(SYS_fcntl, s->fd[i].from, F_DUPFD_CLOEXEC, above);

		if (r < 0)
			return r;
		lifted[i] = (int)r;
	}
	for (size_t i = 0; i < s->n_fds; i++) {
		long r = RAW3(SYS_dup3, lifted[i], s->fd[i].to, 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static void run(void *arg)
{
	struct shared *shared = arg;
	static const char *const no_env[] = { NULL };
	static const int inherited[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM, SIGTERM,
					 SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };
	struct kernel_sigaction dfl = { 0 };
	unsigned long none = 0;
	long r;

	/* Exec itself resets only the signals that have handlers. Our own parent may have made us
	 * ignore signals, so reset these here. */
	for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++)
		RAW4(SYS_rt_sigaction, inherited[i], &dfl, NULL, KERNEL_SIGSET_BYTES);
	if (shared->s->new_session)
		RAW0(SYS_setsid);
	if (shared->s->tied) {
		RAW5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		/* if the parent ended before the prctl() call, the kernel sends no signal, so we
		 * exit ourselves */
		if (RAW0(SYS_getppid) != shared->parent)
			raw_exit(127);
	}
	/* mark all descriptors close-on-exec; place_fds() then unmarks the listed ones */
	r = RAW3(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (r >= 0 &&
	    shared->s->cwd_fd >= 0) /* before place_fds(), which may reuse the number cwd_fd */
		r = RAW1(SYS_fchdir, shared->s->cwd_fd);
	if (r >= 0)
		r = place_fds(shared->s);
	if (r >= 0) {
		RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET_BYTES);
		r = RAW3(SYS_execve, shared->s->path, shared->s->argv,
			 shared->s->envp ? shared->s->envp : no_env);
	}
	shared->err = (int)-r;
	raw_exit(127);
}

/* Call this after the exec has succeeded or a step of the child has failed. After a success,
 * returns 0. After a failure, reaps the child, and returns -1 with the child's error in *E. */
static int outcome(const struct shared *shared, struct child *c, struct err *e)
{
	int status;

	if (!shared->err)
		return 0;
	IGNORE(child_wait(c, &status)); /* the child exited; shared->err says why */
	return err_sys(e, shared->err, "start '%s'", shared->s->path);
}

int spawn(const struct spawn *s, struct child *ret, struct err *e)
{
	_Alignas(16) char stack[STACK_BYTES];
	struct shared shared = { .s = s, .parent = s->tied ? getpid() : 0 };
	int pidfd = -1;
	sigset_t all, before;
	long pid;

	/* a handler of ours must not run in the child, which shares our memory */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = raw_old_clone_on_stack(CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
				     stack + sizeof(stack), &pidfd, run, &shared);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_sys(e, (int)-pid, "start '%s'", s->path);
	*ret = (struct child){ (pid_t)pid, pidfd };
	return outcome(&shared, ret, e);
}

int spawn_begin(const struct spawn *s, struct spawning **ret, struct err *e)
{
	struct spawning *p = xmalloc(sizeof(*p)); /* not calloc(), which would touch every page */
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		.pidfd = (uintptr_t)&p->child.pidfd,
		.parent_tid = (uintptr_t)&p->shares,
		.child_tid = (uintptr_t)&p->shares,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)p->stack,
		.stack_size = sizeof(p->stack),
	};
	sigset_t all, before;
	long pid;

	p->shared = (struct shared){ .s = s, .parent = s->tied ? getpid() : 0 };
	p->shares = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = raw_clone_on_stack(&args, run, &p->shared);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		free(p);
		return err_sys(e, (int)-pid, "start '%s'", s->path);
	}
	p->child.pid = (pid_t)pid;
	*ret = p;
	return 0;
}

int spawn_end(struct spawning *p, struct child *ret, struct err *e)
{
	int tid, r;

	while ((tid = p->shares) != 0)
		RAW4(SYS_futex, &p->shares, FUTEX_WAIT, tid, NULL);
	*ret = p->child;
	r = outcome(&p->shared, ret, e);
	free(p);
	return r;
}

int spawn_path(const char *const *argv, struct child *ret, struct err *e)
{
	return spawn_path_with(argv, -1, ret, e);
}

int spawn_path_with(const char *const *argv, int in, struct child *ret, struct err *e)
{
	AUTO_FREE char *path = program_of_system(argv[0]);
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn s = { .path = path, .argv = argv, .cwd_fd = -1 };

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	for (int i = 0; i < 3; i++)
		s.fd[s.n_fds++] = (struct spawn_fd){ i == 0 && in >= 0 ? in : null, i };
	return path ? spawn(&s, ret, e)
		    : err_set(e, ERR_NOT_FOUND, "program '%s' not found", argv[0]);
}

int child_wait(struct child *c, int *ret_status)
{
	int r = 0;

	while (waitpid(c->pid, ret_status, 0) < 0) {
		if (errno == EINTR)
			continue;
		r = -errno;
		break;
	}
	fd_closep(&c->pidfd);
	c->pid = -1;
	return r;
}
