#include "endpoint/link.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "t.h"

static struct interrupt nobody = { .fd = -1 };

struct pair {
	struct link link;
	int server;
};

static void open_pair(struct pair *p, bool websocket)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) < 0)
		abort();
	link_init(&p->link, fd[0], fd[0], websocket, &nobody);
	p->server = fd[1];
}

static void close_pair(struct pair *p)
{
	link_done(&p->link);
	if (p->server >= 0)
		close(p->server);
}

static void say(struct pair *p, const char *bytes, size_t n)
{
	T_INT(write(p->server, bytes, n), (ssize_t)n);
}

static uint64_t soon(void)
{
	return clock_mono_ns() + 10 * NS_PER_SEC;
}

static void a_quiet_link_is_well(void)
{
	AUTO_FAULT f = { 0 };
	struct pair p;

	open_pair(&p, false);
	T_INT(link_check(&p.link, &f), 0);
	say(&p, "{\"nobody\": \"asked\"}\n", 20);
	T_INT(link_check(&p.link, &f), 0);
	close_pair(&p);
}

static void a_closed_link_is_noticed(void)
{
	AUTO_FAULT f = { 0 };
	struct pair p;

	open_pair(&p, true);
	close(p.server);
	p.server = -1;
	T_INT(link_check(&p.link, &f), -1);
	T_TRUE(f.again);
	T_STR(f.text, "Disconnected from Box runtime");
	close_pair(&p);
}

static void a_close_behind_a_message_is_noticed(void)
{
	AUTO_FAULT f = { 0 };
	struct str message;
	struct pair p;

	open_pair(&p, true);
	say(&p, "\x81\x02{}\x88\x02\x03\xe9", 8); /* a text, and a close with 1001 */
	T_INT(link_receive(&p.link, soon(), &message, &f), 0);
	T_INT(link_check(&p.link, &f), -1);
	T_TRUE(f.again);
	close_pair(&p);

	open_pair(&p, true);
	say(&p, "\x88\x02\x03\xf0", 4); /* 1008: we broke a rule of the server */
	T_INT(link_check(&p.link, &f), -1);
	T_TRUE(!f.again);
	close(p.server);
	p.server = -1;
	T_INT(link_check(&p.link, &f), -1);
	T_TRUE(!f.again);
	close_pair(&p);
}

static void bytes_that_left_are_counted(void)
{
	AUTO_FAULT f = { 0 };
	struct pair p;
	uint64_t begin;

	open_pair(&p, false);
	begin = link_end(&p.link);
	T_INT(begin, 0);
	T_INT(link_send(&p.link, STR("{}"), soon(), &f), 0);
	T_INT(p.link.handed, 3);
	T_INT(link_end(&p.link), 3);

	/* the server has ended, so no byte can be sent */
	close(p.server);
	p.server = -1;
	begin = link_end(&p.link);
	T_INT(link_send(&p.link, STR("{}"), soon(), &f), -1);
	T_INT(p.link.handed, begin);
	T_TRUE(f.again);
	close_pair(&p);
}

/* The program may have been stopped, so that it looks at the socket long after the pong came. */
static void a_pong_that_waits_in_the_socket_counts(void)
{
	AUTO_FAULT f = { 0 };
	struct str message;
	struct pair p;

	open_pair(&p, true);
	p.link.ping_ns = 3600 * NS_PER_SEC;
	p.link.pong_by_ns = 1;
	say(&p, "\x8a\x00\x81\x02{}", 6); /* a pong and a text */
	T_INT(link_receive(&p.link, soon(), &message, &f), 0);
	T_TRUE(str_eq(message, "{}"));
	T_INT(p.link.pong_by_ns, 0);
	close_pair(&p);

	/* a write reads too, but does not decode what it has read */
	open_pair(&p, true);
	p.link.ping_ns = 3600 * NS_PER_SEC;
	p.link.pong_by_ns = 1;
	say(&p, "\x8a\x00\x81\x02{}", 6);
	T_INT(link_send(&p.link, STR("{}"), soon(), &f), 0);
	T_INT(link_receive(&p.link, soon(), &message, &f), 0);
	T_TRUE(str_eq(message, "{}"));
	close_pair(&p);
}

static void a_server_that_does_not_answer_a_ping_is_gone(void)
{
	AUTO_FAULT f = { 0 };
	struct str message;
	struct pair p;

	open_pair(&p, true);
	p.link.ping_ns = 50 * NS_PER_MS;
	p.link.next_ping_ns = 1;
	T_INT(link_receive(&p.link, soon(), &message, &f), -1);
	T_TRUE(f.again);
	T_STR(f.text, "the Box runtime has stopped to answer pings");
	close_pair(&p);
}

int main(void)
{
	T_RUN(a_quiet_link_is_well);
	T_RUN(a_closed_link_is_noticed);
	T_RUN(a_close_behind_a_message_is_noticed);
	T_RUN(bytes_that_left_are_counted);
	T_RUN(a_pong_that_waits_in_the_socket_counts);
	T_RUN(a_server_that_does_not_answer_a_ping_is_gone);
	return t_end();
}
