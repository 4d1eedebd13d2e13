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

#define TRIAL_SECONDS 10 /* a probe that hangs is killed after this time */

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

/* Works like fork(), but returns -errno if it fails. Also makes a pipe. *RET_END is the writing
 * end in the child, and the reading end in the parent. */
static pid_t fork_with_pipe(int *ret_end)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		pid = -errno;
	if (pid != 0)
		close(fds[1]);
	if (pid <= 0)
		close(fds[0]);
	*ret_end = pid < 0 ? -1 : fds[pid == 0];
	return pid;
}

int trial_run(trial_fn *fn, const void *arg, struct trial *ret)
{
	struct trial t = { 0 };
	AUTO_FD end = -1;
	pid_t pid = fork_with_pipe(&end);
	int r;

	if (pid < 0)
		return pid;
	if (pid == 0) {
		alarm(TRIAL_SECONDS);
		t.step = fn(arg); /* a static string has the same address in parent and child */
		t.sys = t.step ? errno : 0;
		_exit(io_write_all(end, &t, sizeof(t)) < 0);
	}
	r = io_read_exact(end, &t, sizeof(t));
	if (wait_for(pid) < 0 || r < 0)
		return -ECHILD;
	*ret = t;
	return 0;
}

int trial_holder_start(pid_t *ret)
{
	AUTO_FD end = -1;
	pid_t pid = fork_with_pipe(&end);
	int sys = 0, r;

	if (pid < 0)
		return pid;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sys = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
		if (io_write_all(end, &sys, sizeof(sys)) < 0 || sys != 0)
			_exit(1);
		for (;;)
			pause();
	}
	r = io_read_exact(end, &sys, sizeof(sys));
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
	IGNORE(wait_for(pid)); /* cannot fail, because the process is our child and dies */
}
