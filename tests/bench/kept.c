/*
 * Runs commands in a sandbox over one connection, which is kept open. For comparison, this program
 * alternates: after each command in the sandbox it starts the same command on the host. Prints
 * lines like those of spawn.c: COMMAND is 0 for the sandbox and 1 for the host. The fields after
 * NANOSECONDS are always 0.
 *
 * usage: kept SANDBOX SECONDS PROGRAM [ARG…]    (CORDON_HOME says where the sandbox is)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "client/call.h"
#include "client/exec.h"
#include "state/home.h"

#define WARM_UP 20 /* rounds that are not counted */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

static uint64_t exec_once(struct client *c, char **argv, size_t n, int null)
{
	struct exec_request q = { .message = { .argv = (const char **)argv, .n_argv = n },
				  .in = -1,
				  .out = null,
				  .err = null,
				  .log = true };
	struct exec_result r;
	struct err e = { 0 };
	uint64_t start = clock_mono_ns();

	if (client_exec(c, &q, &r, &e) < 0)
		die(e.msg);
	if (exec_exit_status(&r.end) != 0)
		die("the command failed in the sandbox");
	return clock_mono_ns() - start;
}

static uint64_t spawn_once(char **argv, int null)
{
	uint64_t start = clock_mono_ns();
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		if (dup2(null, 0) == 0 && dup2(null, 1) == 1)
			execve(argv[0], argv, environ);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die("the command failed on the host");
	return clock_mono_ns() - start;
}

int main(int argc, char **argv)
{
	AUTO_BUF out = BUF_INIT(64u << 20);
	AUTO_HOME home = { .fd = -1 };
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct client c;
	struct err e = { 0 };
	uint64_t seconds, deadline;

	if (argc < 4 || parse_u64(argv[2], 1, 3600, &seconds) < 0)
		return 2;
	if (home_open(&home, &e) < 0 || client_open(&c, &home, argv[1], &e) < 0)
		die(e.msg);
	deadline = clock_mono_ns() + seconds * NS_PER_SEC;
	for (unsigned round = 0; round <= WARM_UP || clock_mono_ns() < deadline; round++) {
		uint64_t inside = exec_once(&c, argv + 3, (size_t)argc - 3, null);
		uint64_t bare = spawn_once(argv + 3, null);

		if (round >= WARM_UP)
			buf_addf(&out, "0 %llu 0 0 0\n1 %llu 0 0 0\n", (unsigned long long)inside,
				 (unsigned long long)bare);
	}
	client_done(&c);
	return io_write_all(1, out.p, out.n) < 0;
}
