/* pid 1 of a sandbox; see guest/guest.h. process/child.c starts this program; users never do. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/stack.h"
#include "guest/connection.h"

static void on_child(void *arg, int sig)
{
	sessions_reap(arg);
}

int main(void)
{
	static struct guest g = { .channel = GUEST_CHANNEL_FD,
				  .listener = -1,
				  .oom_fd = -1,
				  .null = -1,
				  .reporters.listener = -1 };
	AUTO_BUF report = BUF_INIT(4096);
	struct err e = { 0 };
	sigset_t all;

	if (getpid() != 1) {
		fputs("cordon-guest: runs only as pid 1 of a sandbox\n", stderr);
		return 2;
	}
	/* this program was executed by a descriptor, so the kernel named the process after the
	 * descriptor's number */
	IGNORE(prctl(PR_SET_NAME, "cordon-guest"));
	/* no process of the sandbox may interrupt pid 1, so all signals are blocked; the loop reads
	 * SIGCHLD from a signalfd */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (guest_boot(&g, &e) < 0) {
		error_encode(&report, (unsigned)e.code, e.msg);
		AUTO_BUF out = BUF_INIT(8192);
		frame_put(&out, FRAME_ERROR, 0, 0, report.p, report.n);
		/* if the write fails, the supervisor still sees the exit status */
		IGNORE(write(g.channel, out.p, out.n));
		return 1;
	}
	if (loop_new(&g.loop) < 0 || channel_open(&g) < 0 || server_open(&g) < 0 ||
	    !loop_add_signal(g.loop, SIGCHLD, on_child, &g))
		return 1;
	channel_send(&g, FRAME_READY, 0, 0, NULL, 0);
	/* If a client is connected from the start, pid 1 first starts the command of this client.
	 * server.c calls guest_confine() after that. */
	if (g.first_connection < 0) {
		stack_trim();
		guest_confine(&g);
	}
	return loop_run(g.loop) < 0;
}
