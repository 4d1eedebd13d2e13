/* Tests an outbox with a peer that checks which bytes and descriptors each recvmsg returns. */
#include "client/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "t.h"

static struct outbox out;
static int ours, theirs;

static void begin(void)
{
	int pair[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ours = pair[0];
	theirs = pair[1];
	fcntl(theirs, F_SETFL, O_NONBLOCK);
	outbox_init(&out);
}

static void end(void)
{
	outbox_clear(&out);
	T_INT(out.n_messages, 0);
	T_INT(out.n_bytes, 0);
	fd_closep(&ours);
	fd_closep(&theirs);
}

/* Adds a frame of N bytes for STREAM, with N_FDS descriptors. NEEDS is the version of the protocol
 * that the frame needs, or 0. */
static void add(enum frame_type type, uint32_t stream, size_t n, unsigned n_fds, uint32_t needs)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	AUTO_BUF body = BUF_INIT(FRAME_BODY_MAX_BYTES);
	int fds[FRAME_FDS_MAX];

	buf_add_fill(&body, 'x', n);
	frame_put(&b, type, 0, stream, body.p, body.n);
	for (unsigned i = 0; i < n_fds; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	outbox_add(&out, &b, fds, n_fds, needs);
	T_INT(b.n, 0);
}

/* Calls recvmsg() once. Returns how many bytes came, and sets *RET_FDS to how many descriptors came
 * with them. */
static ssize_t take(unsigned *ret_fds)
{
	char chunk[65536];
	int fds[FRAME_FDS_MAX];
	ssize_t n = fdpass_recv(theirs, chunk, sizeof(chunk), fds, FRAME_FDS_MAX, ret_fds);

	for (unsigned i = 0; i < *ret_fds; i++)
		close(fds[i]);
	return n;
}

/* However many bytes pid 1 reads at once, it must get the descriptors together with the last byte
 * of their frame, and before any later byte. */
static void descriptors_come_with_the_last_byte(void)
{
	unsigned n = 0;

	begin();
	add(FRAME_EXEC, 7, 100000, 3, 0);
	add(FRAME_EXEC, 8, 50, 2, 0);
	T_INT(outbox_flush(&out, ours), OUTBOX_EMPTY);
	T_INT(take(&n), 65536);
	T_INT(n, 0);
	T_INT(take(&n), FRAME_HEADER_BYTES + 100000 - 65536);
	T_INT(n, 3);
	T_INT(take(&n), FRAME_HEADER_BYTES + 50);
	T_INT(n, 2);
	end();
}

static void descriptors_wait_behind_an_exec_without_any(void)
{
	unsigned n = 0;

	begin();
	add(FRAME_EXEC, 7, 10, 0, 0);
	add(FRAME_STDIN, 7, 10, 0, 0);
	add(FRAME_EXEC, 8, 10, 3, 0);
	T_INT(outbox_flush(&out, ours), OUTBOX_HELD);
	T_INT(take(&n), 3 * FRAME_HEADER_BYTES + 20); /* a PING follows the EXEC */
	T_INT(n, 0);
	T_INT(out.pings, 1);
	outbox_take_pong(&out);
	T_INT(outbox_flush(&out, ours), OUTBOX_EMPTY);
	outbox_take_pong(&out); /* a PONG while no message waits */
	T_INT(out.pings, 0);
	end();
}

static void a_full_socket(void)
{
	unsigned n = 0, got = 0;
	ssize_t k;

	begin();
	for (unsigned i = 0; i < 20; i++)
		add(FRAME_STDIN, 7, 65536, 0, 0);
	T_INT(outbox_flush(&out, ours), OUTBOX_FULL);
	T_TRUE(out.n_messages > 0 && out.n_messages < 20);
	while (out.n_messages > 0) {
		while ((k = take(&n)) > 0)
			got += (unsigned)k;
		outbox_flush(&out, ours);
	}
	while ((k = take(&n)) > 0)
		got += (unsigned)k;
	T_INT(got, 20 * (65536 + FRAME_HEADER_BYTES));
	end();
}

static void a_peer_that_is_gone(void)
{
	begin();
	fd_closep(&theirs);
	add(FRAME_STDIN, 7, 10, 0, 0);
	T_INT(outbox_flush(&out, ours), OUTBOX_LOST);
	end();
}

static void a_message_waits_for_the_protocol(void)
{
	uint32_t stream;
	unsigned n = 0;

	begin();
	add(FRAME_STDIN, 7, 1, 0, 2);
	add(FRAME_STDIN, 8, 1, 0, 0);
	T_INT(outbox_flush(&out, ours), OUTBOX_HELD);
	T_INT(take(&n), -EAGAIN);
	outbox_take_version(&out, 2);
	T_TRUE(!outbox_drop_misfit(&out, &stream));
	T_INT(outbox_flush(&out, ours), OUTBOX_EMPTY);
	end();
}

static void messages_that_an_older_pid_1_does_not_know(void)
{
	uint32_t stream = 0;
	unsigned n = 0;

	begin();
	add(FRAME_STDIN, 6, 1, 0, 0);
	add(FRAME_STDIN, 7, 1, 0, 2);
	add(FRAME_STDIN, 8, 1, 0, 0);
	add(FRAME_STDIN, 9, 1, 0, 2);
	outbox_take_version(&out, 1);
	T_TRUE(outbox_drop_misfit(&out, &stream));
	T_INT(stream, 7);
	T_TRUE(outbox_drop_misfit(&out, &stream));
	T_INT(stream, 9);
	T_TRUE(!outbox_drop_misfit(&out, &stream));
	add(FRAME_STDIN, 10, 1, 0, 0); /* the dropped messages left no gap in the queue */
	T_INT(out.n_messages, 3);
	T_INT(outbox_flush(&out, ours), OUTBOX_EMPTY);
	T_INT(take(&n), 3 * (FRAME_HEADER_BYTES + 1));
	end();
}

/* When an outbox is cleared, the descriptors of its messages must be closed. */
static void cleared(void)
{
	int before, after;

	begin();
	before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	add(FRAME_EXEC, 7, 10, 3, 0);
	outbox_clear(&out);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	T_INT(after, before);
	close(after);
	end();
}

/* After the largest EXEC without descriptors, its PING still fits into the queue. */
static void the_largest_message(void)
{
	begin();
	add(FRAME_EXEC, 7, FRAME_BODY_MAX_BYTES, 0, 0);
	T_INT(out.n_bytes, FRAME_BODY_MAX_BYTES + 2 * FRAME_HEADER_BYTES);
	end();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	T_RUN(descriptors_come_with_the_last_byte);
	T_RUN(descriptors_wait_behind_an_exec_without_any);
	T_RUN(a_full_socket);
	T_RUN(a_peer_that_is_gone);
	T_RUN(a_message_waits_for_the_protocol);
	T_RUN(messages_that_an_older_pid_1_does_not_know);
	T_RUN(cleared);
	T_RUN(the_largest_message);
	return t_end();
}
