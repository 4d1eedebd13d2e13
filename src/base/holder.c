#include "base/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/raw.h"

static void hold(void *arg)
{
	const struct holder *h = arg;
	char c;

	RAW1(SYS_close, h->theirs[1]);
	RAW3(SYS_read, h->theirs[0], &c, 1);
	raw_exit(0);
}

int holder_start(struct holder *h)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_VM,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)h->stack,
		.stack_size = sizeof(h->stack),
	};
	long pid;

	if (pipe2(h->theirs, O_CLOEXEC) < 0)
		return -errno;
	pid = raw_clone_on_stack(&args, hold, h);
	h->pid = (pid_t)pid;
	h->keep = h->theirs[1];
	(void)close(h->theirs[0]); /* the task has its own table of descriptors */
	if (pid < 0)
		fd_closep(&h->keep);
	return pid < 0 ? (int)pid : 0;
}

int holder_namespace(const struct holder *h)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)h->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void holder_release(struct holder *h)
{
	fd_closep(&h->keep);
}

void holder_end(struct holder *h)
{
	holder_release(h);
	/* it ends with the pipe; its stack is ours */
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
