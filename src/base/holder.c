#include "base/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/raw.h"
#include "base/str.h"

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
	(void)close(h->theirs[0]); /* the task has its own copy of this descriptor */
	if (pid < 0)
		fd_closep(&h->keep);
	return pid < 0 ? (int)pid : 0;
}

struct limit {
	int resource;
	struct rlimit before, then;
};

/* Parses TEXT (holder_start_within()) into OUT, and returns the number of limits in OUT. Leaves out
 * items that are malformed. Limits are only lowered: if the present soft limit of a resource is
 * less than the number in TEXT, the present limit stays. */
static unsigned read_limits(const char *text, struct limit out[HOLDER_LIMITS_MAX])
{
	unsigned n = 0;

	for (struct str rest = str_of(text); rest.p && n < HOLDER_LIMITS_MAX;) {
		struct str number = str_cut(&rest, ' '), resource = str_cut(&number, ':');
		struct limit *l = &out[n];
		uint64_t which, most;

		if (!number.p || parse_u64_str(resource, 0, RLIMIT_NLIMITS - 1, &which) < 0 ||
		    parse_u64_str(number, 0, UINT64_MAX, &most) < 0 ||
		    getrlimit((int)which, &l->before) < 0)
			continue;
		l->resource = (int)which;
		l->then = l->before;
		if (l->then.rlim_cur > most)
			l->then.rlim_cur = most;
		n++;
	}
	return n;
}

int holder_start_within(struct holder *h, const char *limits)
{
	struct limit limit[HOLDER_LIMITS_MAX];
	unsigned n = limits ? read_limits(limits, limit) : 0;
	int r = 0, back;

	for (unsigned i = 0; i < n && r == 0; i++)
		r = setrlimit(limit[i].resource, &limit[i].then) < 0 ? -errno : 0;
	if (r == 0)
		r = holder_start(h);
	for (unsigned i = 0; i < n; i++) {
		back = setrlimit(limit[i].resource, &limit[i].before);
		r = r == 0 && back < 0 ? -errno : r;
	}
	return r;
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
	/* the task ends when the pipe closes; wait for its end, because its stack is part of H */
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
