#include "endpoint/tls.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "t.h"

#define RECORD_BYTES (16u << 10)
#define HEADER_BYTES 5u

/* Fills the socket with requests for a new handshake, which a client skips. */
static void fill(int fd)
{
	static unsigned char record[HEADER_BYTES + RECORD_BYTES] = { 22, 3, 3, RECORD_BYTES >> 8,
								     RECORD_BYTES & 0xff };

	while (send(fd, record, sizeof(record), MSG_DONTWAIT) == (ssize_t)sizeof(record))
		;
}

static int waiting(int fd)
{
	int n = -1;

	T_INT(ioctl(fd, FIONREAD, &n), 0);
	return n;
}

/* The server sends without end. tls_shake() must still return, so that its caller can look at the
 * clock. */
static void a_flood_does_not_keep_a_call(void)
{
	struct address a = { .name = (char *)"localhost", .host = (char *)"localhost:1" };
	const int room = 4 << 20;
	struct fault f = { 0 };
	struct tls *t = NULL;
	int fd[2], before;

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	T_INT(setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	T_INT(tls_new(fd[0], &a, &t, &f), 0);
	fill(fd[1]);
	for (int i = 0; i < 100; i++) {
		before = waiting(fd[0]);
		T_INT(tls_shake(t, &a, &f), 0);
		T_INT(tls_events(t) & ~1, 0);
		T_TRUE(waiting(fd[0]) < before);
		T_TRUE(waiting(fd[0]) > 0);
		fill(fd[1]);
	}
	tls_free(t);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	T_RUN(a_flood_does_not_keep_a_call);
	return t_end();
}
