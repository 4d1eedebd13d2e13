#include "client/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/frame.h"

void pipes_done(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		fd_closep(&p->in[i]);
		fd_closep(&p->out[i]);
		fd_closep(&p->err[i]);
	}
}

static int open_pipe(int pair[2], int ours)
{
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	/* 0666, because the command has other ids and may open /dev/stdout again */
	if (fchmod(pair[0], 0666) < 0)
		return -1;
	return fcntl(pair[ours], F_SETFL, O_NONBLOCK);
}

int pipes_open(struct pipes *p, bool joined)
{
	int r;

	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (open_pipe(p->in, 1) == 0 && open_pipe(p->out, 0) == 0 &&
	    (joined || open_pipe(p->err, 0) == 0))
		return 0;
	r = -errno;
	pipes_done(p);
	return r;
}

uint64_t pipe_held(int fd)
{
	int n;

	return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 ? (uint64_t)n : 0;
}

unsigned pipes_to_leave(int out, int err, bool joined, int fds[2], unsigned *ret_flags)
{
	unsigned n = 0;

	*ret_flags = joined ? FRAME_FLAG_JOINED : 0;
	if (out >= 0)
		fds[n++] = out;
	if (err >= 0) {
		if (n == 0)
			*ret_flags |= FRAME_FLAG_STDERR;
		fds[n++] = err;
	}
	return n;
}
