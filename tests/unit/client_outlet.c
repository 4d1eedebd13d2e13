/* Writes through an outlet into pipes, sockets and files. Some readers are slow or gone. */
#include "client/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

static char chunk[OUTLET_CHUNK_BYTES];

/* Reads N bytes and compares them with the written bytes from AT on. */
static void check(int fd, size_t at, size_t n)
{
	char got[4096];

	while (n > 0) {
		ssize_t k = read(fd, got, n < sizeof(got) ? n : sizeof(got));

		T_TRUE(k > 0);
		if (k <= 0)
			return;
		for (ssize_t i = 0; i < k; i++, at++)
			if (got[i] != (char)(at % OUTLET_CHUNK_BYTES % 251))
				T_FAIL("another byte at %zu", at);
		n -= (size_t)k;
	}
}

/* Writes chunks until the pipe is full, and the rest while the reader reads. */
static void a_slow_reader_of(int from, int to)
{
	struct outlet o = OUTLET_NONE;
	size_t put = 0, got = 0;

	o.fd = to;
	while (!outlet_waits(&o) && put < (64u << 20)) {
		T_INT(outlet_put(&o, chunk, sizeof(chunk)), 0);
		put += sizeof(chunk);
	}
	T_TRUE(outlet_waits(&o));
	T_TRUE(o.rest_n > 0 && o.rest_n <= sizeof(chunk));
	while (outlet_waits(&o) && got < put) {
		check(from, got, 4096);
		got += 4096;
		T_INT(outlet_flush(&o), 0);
	}
	check(from, got, put - got);
	/* the outlet must not set O_NONBLOCK, because other processes share this flag */
	T_TRUE(!(fcntl(to, F_GETFL) & O_NONBLOCK));
	outlet_done(&o);
}

static void a_slow_reader_of_a_pipe(void)
{
	int pair[2];

	T_INT(pipe2(pair, O_CLOEXEC), 0);
	a_slow_reader_of(pair[0], pair[1]);
	close(pair[0]);
	close(pair[1]);
}

static void a_slow_reader_of_a_socket(void)
{
	int pair[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	a_slow_reader_of(pair[0], pair[1]);
	close(pair[0]);
	close(pair[1]);
}

static void a_reader_that_is_gone(void)
{
	struct outlet o = OUTLET_NONE;
	int pair[2];

	T_INT(pipe2(pair, O_CLOEXEC), 0);
	close(pair[0]);
	o.fd = pair[1];
	T_INT(outlet_put(&o, chunk, 10), -EPIPE);
	outlet_done(&o);
	close(pair[1]);
}

static void a_full_disk(void)
{
	struct outlet o = OUTLET_NONE;

	o.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	T_INT(outlet_put(&o, chunk, 10), -ENOSPC);
	close(o.fd);
	outlet_done(&o);
}

static void no_outlet_at_all(void)
{
	struct outlet o = OUTLET_NONE;

	T_INT(outlet_put(&o, chunk, sizeof(chunk)), 0);
	T_TRUE(!outlet_waits(&o));
	outlet_done(&o);
}

static void from_pipe_to_pipe(void)
{
	struct outlet o = OUTLET_NONE;
	int from[2], to[2];

	T_INT(pipe2(from, O_CLOEXEC), 0);
	T_INT(pipe2(to, O_CLOEXEC), 0);
	o.fd = to[1];
	T_INT(write(from[1], chunk, 60000), 60000);
	T_INT(outlet_pass(&o, from[0]), 60000);
	check(to[0], 0, 60000);
	T_INT(outlet_pass(&o, from[0]), 0); /* the pipe is empty, so there is nothing to pass on */
	T_INT(outlet_flush(&o), 0);
	T_TRUE(!outlet_waits(&o));
	outlet_done(&o);
	for (unsigned i = 0; i < 2; i++) {
		close(from[i]);
		close(to[i]);
	}
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(chunk); i++)
		chunk[i] = (char)(i % 251);
	T_RUN(a_slow_reader_of_a_pipe);
	T_RUN(a_slow_reader_of_a_socket);
	T_RUN(a_reader_that_is_gone);
	T_RUN(a_full_disk);
	T_RUN(no_outlet_at_all);
	T_RUN(from_pipe_to_pipe);
	return t_end();
}
