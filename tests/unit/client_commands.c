/* Tests the deadline of a question about a background command. In one test pid 1 does not answer,
 * but has filled the socket with frames that a client ignores. In the other it has answered. */
#include "client/commands.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "t.h"

static struct client client;
static int theirs;

static void begin(void)
{
	int pair[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	client_adopt(&client, NULL, "box", pair[0]);
	theirs = pair[1];
	T_INT(fcntl(theirs, F_SETFL, O_NONBLOCK), 0);
}

static void end(void)
{
	client_done(&client);
	fd_closep(&theirs);
}

/* Fills the socket. Returns how many bytes it holds. */
static int flood(void)
{
	AUTO_BUF b = BUF_INIT(65536);
	int n = 0;

	hello_encode(&b);
	while (b.n < 32768)
		frame_put(&b, FRAME_PONG, 0, 0, NULL, 0);
	while (fdpass_try(theirs, b.p, b.n, NULL, 0) > 0)
		;
	T_INT(ioctl(client.fd, FIONREAD, &n), 0);
	return n;
}

/* Returns how many bytes the client has not read. */
static int left(void)
{
	int n = -1;

	T_INT(ioctl(client.fd, FIONREAD, &n), 0);
	return n;
}

static void frames_without_end_do_not_move_the_deadline(void)
{
	struct exit_message m;
	struct err e = { 0 };
	bool known = true;
	int sent;

	begin();
	sent = flood();
	T_TRUE(sent > 65536);
	T_INT(commands_await_end(&client, 7, clock_mono_ns(), &m, &known, &e), 0);
	T_TRUE(!known);
	/* the deadline had passed before the question, so only one read took something */
	T_TRUE(left() > sent / 2);
	end();
}

/* An answer that has come before the deadline counts, even if nobody has read it yet. */
static void an_answer_that_came_in_time(void)
{
	const struct command_message told = {
		.id = 7, .flags = COMMAND_ENDED, .words = { "", 0 }, .end = { .code = 3 }
	};
	AUTO_BUF b = BUF_INIT(4096);
	struct exit_message m = { 0 };
	struct err e = { 0 };
	bool known = false;
	size_t at;

	begin();
	hello_encode(&b);
	at = frame_begin(&b, FRAME_COMMAND, 0, CLIENT_STREAM + 1);
	command_encode(&b, &told);
	frame_end(&b, at);
	T_INT(fdpass_send(theirs, b.p, b.n, NULL, 0), 0);
	T_INT(commands_await_end(&client, 7, clock_mono_ns(), &m, &known, &e), 1);
	T_TRUE(known);
	T_INT(m.code, 3);
	end();
}

int main(void)
{
	T_RUN(frames_without_end_do_not_move_the_deadline);
	T_RUN(an_answer_that_came_in_time);
	return t_end();
}
