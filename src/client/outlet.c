#include "client/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"

/* outlet_pass() enlarges the pipe that it reads and the pipe that it writes to this size. Then a
 * flood of output takes fewer turns of the loop. By default, the kernel allows an ordinary user no
 * larger pipe. */
#define FLOOD_PIPE_BYTES (1 << 20)

void outlet_done(struct outlet *o)
{
	fd_closep(&o->own);
	free_p(&o->rest);
	o->rest_n = 0;
}

bool outlet_waits(const struct outlet *o)
{
	return o->full || o->rest_n;
}

static void look(struct outlet *o)
{
	struct stat st;

	o->kind = fstat(o->fd, &st) < 0  ? OUTLET_PLAIN
		  : S_ISFIFO(st.st_mode) ? OUTLET_PIPE
		  : S_ISSOCK(st.st_mode) ? OUTLET_SOCKET
					 : OUTLET_PLAIN;
}

/* Does the same as write(2), but does not wait if the descriptor is a pipe or a socket. A write to
 * any other descriptor may wait, and so may a write to a pipe that cannot be opened again below. */
static ssize_t write_now(struct outlet *o, const char *p, size_t n)
{
	int r;

	if (o->kind == OUTLET_UNSEEN)
		look(o);
	if (o->kind == OUTLET_SOCKET)
		return send(o->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->kind == OUTLET_PIPE && o->own < 0) {
		ssize_t k = sys_write_nowait(o->fd, p, n);

		if (k >= 0 || errno != EOPNOTSUPP)
			return k;
		/* an old kernel cannot make a single write non-blocking, so open the pipe a second
		 * time */
		o->own = io_reopen_nowait(o->fd, O_WRONLY);
		if (o->own < 0)
			o->kind = OUTLET_PLAIN;
	}
	if (o->kind == OUTLET_PIPE)
		return write(o->own, p, n);
	r = io_write_all(o->fd, p, n);
	errno = -r;
	return r < 0 ? -1 : (ssize_t)n;
}

/* Writes the *N bytes at P, or as many as the descriptor takes at once, and sets *N to that
 * number. Returns 0 or -errno; a full descriptor is no error. */
static int write_some(struct outlet *o, const char *p, size_t *n)
{
	size_t done = 0;

	while (done < *n) {
		ssize_t k = write_now(o, p + done, *n - done);

		if (k >= 0)
			done += (size_t)k;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return -errno;
	}
	*n = done;
	return 0;
}

int outlet_put(struct outlet *o, const char *p, size_t n)
{
	size_t done = n;
	int r = o->fd < 0 ? 0 : write_some(o, p, &done);

	if (r < 0 || done == n)
		return r;
	if (!o->rest)
		o->rest = xmalloc(OUTLET_CHUNK_BYTES);
	o->rest_at = 0;
	o->rest_n = n - done;
	memcpy(o->rest, p + done, o->rest_n);
	return 0;
}

int outlet_flush(struct outlet *o)
{
	size_t done = o->rest_n;
	int r = write_some(o, o->rest + o->rest_at, &done);

	o->full = false;
	o->rest_at += done;
	o->rest_n -= done;
	return r;
}

size_t outlet_pass(struct outlet *o, int from)
{
	ssize_t n;

	if (o->kind == OUTLET_UNSEEN)
		look(o);
	if (o->kind != OUTLET_PIPE)
		return 0;
	if (!o->widened) { /* if the kernel refuses, the pipes keep their size */
		IGNORE(fcntl(from, F_SETPIPE_SZ, FLOOD_PIPE_BYTES));
		IGNORE(fcntl(o->fd, F_SETPIPE_SZ, FLOOD_PIPE_BYTES));
		o->widened = true;
	}
	n = splice(from, NULL, o->fd, NULL, FLOOD_PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	o->full = n < 0 && errno == EAGAIN;
	return n < 0 ? 0 : (size_t)n;
}
