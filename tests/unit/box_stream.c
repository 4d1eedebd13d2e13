/* A peer takes output so slowly that the queue of the stream never gets empty. */
#include "box/stream.h"
#include "t.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECE_BYTES ((size_t)64 << 10)
#define QUEUED_BYTES ((size_t)1 << 20)
#define ALL_BYTES ((size_t)24 << 20)
/* A buffer doubles when it grows, and the allocator may keep its old memory for a while. */
#define MEMORY_MAX_BYTES (8 * QUEUED_BYTES)

static struct loop *loop;

static size_t no_input(void *arg, const char *p, size_t n)
{
	return n;
}

static void on_gone(void *arg)
{
	*(bool *)arg = true;
}

static void on_late(void *arg)
{
	loop_stop(loop);
}

static void turn(void)
{
	loop_id timer = loop_add_timer(loop, clock_mono_ns() + NS_PER_MS / 10, on_late, NULL);

	T_INT(loop_run(loop), 0);
	loop_remove(loop, &timer);
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Returns byte number AT of the output. The bytes repeat after 251 * 256 bytes. This is not the
 * size of a piece, so a piece differs from the next one. */
static char byte_at(size_t at)
{
	return (char)(at / 251);
}

static void send_piece(struct stream *s, size_t *sent)
{
	AUTO_BUF piece = BUF_INIT(PIECE_BYTES);

	for (size_t i = 0; i < PIECE_BYTES; i++)
		buf_add_char(&piece, byte_at((*sent)++));
	stream_send(s, &piece);
}

/* Reads once, and checks the bytes. */
static void read_piece(int peer, size_t *got)
{
	static char piece[PIECE_BYTES];
	ssize_t n = recv(peer, piece, sizeof(piece), MSG_DONTWAIT);
	bool good = true;

	for (ssize_t i = 0; i < n; i++)
		good &= piece[i] == byte_at(*got + (size_t)i);
	T_TRUE(good);
	*got += n > 0 ? (size_t)n : 0;
}

static void a_queue_that_never_empties_does_not_grow(void)
{
	struct ceiling ceiling = { .max = CEILING_DEFAULT_BYTES };
	bool gone = false;
	struct stream_user user = { .input = no_input, .gone = on_gone, .arg = &gone };
	size_t before = allocated(), most = 0, sent = 0, got = 0;
	struct stream *s = NULL;
	int fd[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	T_INT(stream_new(loop, fd[0], fd[0], &ceiling, &user, &s), 0);
	while (sent < ALL_BYTES && !gone && !t_bad) {
		while (stream_queued(s) < QUEUED_BYTES)
			send_piece(s, &sent);
		read_piece(fd[1], &got);
		turn();
		if (allocated() - before > most)
			most = allocated() - before;
	}
	T_TRUE(!gone);
	if (most > MEMORY_MAX_BYTES)
		T_FAIL("%zu bytes were allocated", most);
	T_INT(ceiling.used, stream_queued(s));
	while (got < sent && !gone && !t_bad) {
		read_piece(fd[1], &got);
		turn();
	}
	T_INT(got, sent);
	T_INT(ceiling.used, 0);
	stream_free(s);
	close(fd[1]);
}

int main(void)
{
	T_INT(loop_new(&loop), 0);
	T_RUN(a_queue_that_never_empties_does_not_grow);
	loop_free(loop);
	return t_end();
}
