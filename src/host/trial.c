#include "host/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define TRIAL_SECONDS 10 /* a probe that hangs in the kernel must not hang the doctor */

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

int trial_run(trial_fn *fn, const void *arg, struct trial *ret)
{
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	struct trial t = { 0 };
	int fds[2], r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	from = fds[0];
	to = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		alarm(TRIAL_SECONDS);
		t.step = fn(arg); /* a static string: the same address on both sides */
		t.sys = t.step ? errno : 0;
		_exit(io_write_all(to, &t, sizeof(t)) < 0);
	}
	close(fd_take(&to));
	r = io_read_exact(from, &t, sizeof(t));
	if (wait_for(pid) < 0 || r < 0)
		return r < 0 ? -ECHILD : r;
	*ret = t;
	return 0;
}

int trial_holder_start(pid_t *ret)
{
	AUTO_FD from = -1;
	AUTO_FD to = -1;
	int fds[2], sys = 0, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	from = fds[0];
	to = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sys = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
		if (io_write_all(to, &sys, sizeof(sys)) < 0 || sys != 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(fd_take(&to));
	r = io_read_exact(from, &sys, sizeof(sys));
	if (r < 0 || sys != 0) {
		trial_holder_end(pid);
		return r < 0 ? r : -sys;
	}
	*ret = pid;
	return 0;
}

void trial_holder_end(pid_t pid)
{
	kill(pid, SIGKILL);
	IGNORE(wait_for(pid)); /* it is ours and dying */
}
