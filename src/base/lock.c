#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/raw.h"

#define STACK_BYTES 4096 /* enough, because the task makes only a few system calls */

/* The system call that takes the lock, and its arguments. The task makes its calls without the C
 * library, because the task shares our memory and must not change errno. */
struct attempt {
	long number; /* the number of the system call */
	int fd;
	long operation;
	struct flock range;
	pid_t parent;
	_Alignas(16) char stack[STACK_BYTES];
};

static long take(struct attempt *a, long operation)
{
	return RAW3(a->number, a->fd, operation,
		    &a->range); /* flock() has two arguments and ignores the third */
}

static void wait_for_lock(void *arg)
{
	struct attempt *a = arg;

	RAW5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (RAW0(SYS_getppid) == a->parent)
		take(a, a->operation);
	raw_exit(0);
}

static long start_task(struct attempt *a, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD,
		.pidfd = (uintptr_t)ret_pidfd,
		.stack = (uintptr_t)a->stack,
		.stack_size = sizeof(a->stack),
	};
	sigset_t all, before;
	long pid;

	a->parent = getpid();
	sigfillset(&all); /* no handler of ours may run in the task */
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = raw_clone_on_stack(&args, wait_for_lock, a);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* Waits until the task ends. Kills the task if it has not ended by the deadline. */
static void await_task(pid_t pid, int pidfd, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (poll(&p, 1, clock_poll_ms(deadline_ns)) < 0 && errno == EINTR)
		;
	if (!p.revents)
		IGNORE(kill(pid,
			    SIGKILL)); /* the task is not reaped yet, so PID is still the task */
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* Tries to lock without waiting. If another open file has the lock, lets a task wait for the lock,
 * and then tries again. If the task got the lock before its end, our open file has the lock, and
 * the last try succeeds at once. If WAIT_MS is 0, makes only the first try.
 * Returns 0, -ETIMEDOUT or another -errno. */
static int lock(struct attempt *a, long at_once, unsigned wait_ms)
{
	AUTO_FD pidfd = -1;
	long r = take(a, at_once);
	long pid;

	if ((r != -EWOULDBLOCK && r != -EACCES) || wait_ms == 0)
		return r == -EWOULDBLOCK || r == -EACCES ? -ETIMEDOUT : (int)r;
	pid = start_task(a, &pidfd);
	if (pid < 0)
		return (int)pid;
	await_task((pid_t)pid, pidfd, clock_mono_ns() + wait_ms * NS_PER_MS);
	r = take(a, at_once);
	return r == -EWOULDBLOCK || r == -EACCES ? -ETIMEDOUT : (int)r;
}

int lock_flock(int fd, int operation, unsigned wait_ms)
{
	struct attempt a = { .number = SYS_flock, .fd = fd, .operation = operation };

	return lock(&a, operation | LOCK_NB, wait_ms);
}

int lock_first_byte(int fd, short type, unsigned wait_ms)
{
	struct attempt a = { .number = SYS_fcntl,
			     .fd = fd,
			     .operation = F_OFD_SETLKW,
			     .range = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 } };

	return lock(&a, F_OFD_SETLK, wait_ms);
}
