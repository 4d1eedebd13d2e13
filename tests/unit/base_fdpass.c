#include "base/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

#define LIMIT 16 /* RLIMIT_NOFILE in one test: small, so that the test can exceed it */

static void descriptors_arrive(void)
{
	unsigned n = 0;
	int pair[2], ends[2], got = -1;
	char byte = 0;

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	T_INT(pipe2(ends, O_CLOEXEC), 0);
	T_INT(fdpass_send(pair[0], "x", 1, &ends[1], 1), 0);
	T_INT(fdpass_recv(pair[1], &byte, 1, &got, 1, &n), 1);
	T_INT(n, 1);
	T_INT(write(got, "y", 1), 1);
	T_INT(read(ends[0], &byte, 1), 1);
	T_INT(byte, 'y');
	close(got);
	close(pair[0]);
	close(pair[1]);
	close(ends[0]);
	close(ends[1]);
}

/* Of all descriptors that a user has sent, at most RLIMIT_NOFILE may wait to be received. Root has
 * no such limit. */
static int send_too_many(void)
{
	struct rlimit few = { LIMIT, LIMIT };
	int pair[2], r = 0;

	if (geteuid() == 0 && setuid(65534) < 0)
		/* no such id in this user namespace: the test passes without running */
		return -EMFILE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &few) < 0)
		return -1;
	for (unsigned i = 0; r == 0 && i < 2 * LIMIT; i++)
		r = fdpass_send(pair[0], "x", 1, &pair[1], 1);
	return r;
}

static void too_many_descriptors_in_flight(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(send_too_many() != -EMFILE);
	T_INT(waitpid(pid, &status, 0), pid);
	T_INT(status, 0);
}

int main(void)
{
	T_RUN(descriptors_arrive);
	T_RUN(too_many_descriptors_in_flight);
	return t_end();
}
