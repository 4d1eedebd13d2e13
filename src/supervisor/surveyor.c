#include "supervisor/surveyor.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/confine.h"
#include "base/raw.h"
#include "supervisor/surveyor_task.h"

static int make_rules(struct confine_files *f, int layer, struct err *e)
{
	if (confine_files_begin(f, e) < 0)
		return -1;
	return confine_files_allow(f, layer, LANDLOCK_ACCESS_FS_READ_DIR, e);
}

static int make_task(struct surveyor *s, struct err *e)
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.pidfd = (uintptr_t)&s->pidfd,
		.stack = (uintptr_t)s->memory->stack,
		.stack_size = sizeof(s->memory->stack),
	};
	long pid = raw_clone_on_stack(&args, surveyor_task, s->memory);

	if (pid < 0)
		return err_sys(e, (int)-pid, "start the task that measures the writable layer");
	s->pid = (pid_t)pid;
	return 0;
}

static int set_up(struct surveyor *s, int layer, int pidfd, uint64_t most_files, int theirs,
		  int ruleset, struct err *e)
{
	struct surveyor_memory *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return err_sys(e, errno, "start the task that measures the writable layer");
	s->memory = m;
	m->socket = theirs;
	m->layer = layer;
	m->pidfd = pidfd;
	m->ruleset = ruleset;
	m->most_files = most_files;
	m->filter =
		(struct sock_fprog){ surveyor_filter_len, (struct sock_filter *)surveyor_filter };
	return make_task(s, e);
}

int surveyor_start(struct surveyor *s, int layer, int pidfd, uint64_t most_files, struct err *e)
{
	struct confine_files rules = { .ruleset = -1 };
	int pair[2] = { -1, -1 };
	int r;

	*s = SURVEYOR_NONE;
	r = make_rules(&rules, layer, e);
	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = err_sys(e, errno, "start the task that measures the writable layer");
	if (r == 0)
		r = set_up(s, layer, pidfd, most_files, pair[1], rules.ruleset, e);
	s->socket = pair[0];
	/* the task has its own copies of these descriptors */
	fd_closep(&pair[1]);
	confine_files_done(&rules);
	if (r < 0)
		surveyor_end(s);
	return r;
}

bool surveyor_order(const struct surveyor *s)
{
	return s->pid && send(s->socket, "m", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

int surveyor_answer(const struct surveyor *s, struct survey *ret)
{
	char c;
	ssize_t n = recv(s->socket, &c, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != 1)
		return -1;
	*ret = s->memory->result;
	return 1;
}

void surveyor_end(struct surveyor *s)
{
	if (s->pid) {
		/* this fails if the task has ended */
		IGNORE(sys_pidfd_send_signal(s->pidfd, SIGKILL) < 0);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (s->memory)
		IGNORE(munmap(s->memory, sizeof(*s->memory))); /* no task uses it now */
	fd_closep(&s->pidfd);
	fd_closep(&s->socket);
	*s = SURVEYOR_NONE;
}
