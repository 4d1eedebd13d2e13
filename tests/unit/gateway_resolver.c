/* Tests the resolver with a nameserver that never lets it wait: in each turn of the loop the socket
 * of the question is readable. The time is made up. */
#include "gateway/resolver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "t.h"

#define TURNS 100u
#define TIMEOUT_MS 1000u /* the time-out of a question, which is TURNS turns of made-up time */

static const uint8_t question[] = { 0x12, 0x34, 1,   0, 0,   1,   0,   0,   0, 0, 0, 0, 3,
				    'b',  'o',  'x', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1 };

static struct resolver *resolver;
static struct pollset set;
static int udp, listener;
static unsigned answers, empty;
static uint8_t seen[512]; /* the last question that the nameserver got */
static size_t seen_n;
static struct sockaddr_in asker;

static void on_done(void *arg, const struct dns_query *q, const struct dns_origin *o, uint8_t *msg,
		    size_t n)
{
	answers++;
	empty += !msg;
}

/* Makes the sockets of the nameserver, for UDP and TCP. Returns their port. */
static uint16_t listen_at(void)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		struct sockaddr_in at = { .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t n = sizeof(at);

		udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		T_INT(bind(udp, (struct sockaddr *)&at, n), 0);
		T_INT(getsockname(udp, (struct sockaddr *)&at, &n), 0);
		if (bind(listener, (struct sockaddr *)&at, n) == 0 && listen(listener, 1) == 0)
			return ntohs(at.sin_port);
		fd_closep(&udp); /* another program has the same port of TCP */
		fd_closep(&listener);
	}
	T_FAIL("no port is free");
	return 0;
}

static void begin(void)
{
	struct policy *p = xcalloc(1, sizeof(*p));
	struct err e = { 0 };

	p->query_timeout_ms = TIMEOUT_MS;
	p->n_nameservers = 1;
	snprintf(p->nameserver[0], sizeof(p->nameserver[0]), "127.0.0.1:%u", listen_at());
	resolver = resolver_new(on_done, NULL);
	T_INT(resolver_configure(resolver, p, -1, &e), 0);
	free(p);
	answers = empty = 0;
}

static void end(void)
{
	resolver_free(resolver);
	free(set.fd);
	set = (struct pollset){ 0 };
	fd_closep(&udp);
	fd_closep(&listener);
}

static void ask(uint64_t now_ns)
{
	struct dns_origin o = { 0 };
	struct dns_query q;

	T_INT(dns_query_decode(question, sizeof(question), &q), 0);
	resolver_ask(resolver, &q, &o, now_ns);
}

/* One turn of the loop. Waits until the socket is readable or writable, if READY is true. */
static void turn(uint64_t now_ns, bool ready)
{
	set.n = 0;
	set.wake_ns = UINT64_MAX;
	resolver_fill(resolver, &set);
	T_INT(poll(set.fd, set.n, ready ? 1000 : 0), ready);
	resolver_poll(resolver, &set, now_ns);
}

/* Returns how many questions the nameserver has got since the last call. */
static unsigned questions(void)
{
	socklen_t n = sizeof(asker);
	unsigned count = 0;
	ssize_t k;

	while ((k = recvfrom(udp, seen, sizeof(seen), 0, (struct sockaddr *)&asker, &n)) > 0) {
		seen_n = (size_t)k;
		count++;
	}
	return count;
}

static void say(const void *p, size_t n)
{
	T_INT(sendto(udp, p, n, 0, (struct sockaddr *)&asker, sizeof(asker)), n);
}

static uint64_t at_turn(unsigned i)
{
	return NS_PER_SEC + TIMEOUT_MS * NS_PER_MS / TURNS * i;
}

static void wrong_answers_do_not_move_the_deadline(void)
{
	begin();
	ask(at_turn(0));
	T_INT(questions(), 1);
	for (unsigned i = 1; i <= TURNS; i++) {
		T_INT(answers, 0);
		say("wrong", 5);
		turn(at_turn(i), true);
		T_INT(questions(), i == TURNS / 2);
	}
	T_INT(answers, 1);
	T_INT(empty, 1);
	end();
}

/* The server sends the answer by TCP, one byte in each turn. */
static void an_answer_in_single_bytes_does_not_move_the_deadline(void)
{
	uint8_t cut[DNS_QUERY_MAX_BYTES];
	struct dns_query q;
	AUTO_FD conn = -1;

	begin();
	ask(at_turn(0));
	T_INT(questions(), 1);
	T_INT(dns_query_decode(seen, seen_n, &q), 0);
	say(cut, dns_reply_encode(&q, DNS_NOERROR, true, cut));
	turn(at_turn(0), true);
	turn(at_turn(0), true);
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	T_TRUE(conn >= 0);
	for (unsigned i = 1; i <= TURNS; i++) {
		T_INT(answers, 0);
		T_INT(write(conn, i == 1 ? "\1" : "", 1), 1);
		turn(at_turn(i), true);
	}
	T_INT(answers, 1);
	T_INT(empty, 1);
	end();
}

/* Both the answer and the deadline have come before the loop looks. */
static void an_answer_that_came_in_time_counts(void)
{
	uint8_t answer[DNS_QUERY_MAX_BYTES];
	struct dns_query q;

	begin();
	ask(at_turn(0));
	T_INT(questions(), 1);
	T_INT(dns_query_decode(seen, seen_n, &q), 0);
	say(answer, dns_reply_encode(&q, DNS_NOERROR, false, answer));
	turn(at_turn(2 * TURNS), true);
	T_INT(answers, 1);
	T_INT(empty, 0);
	end();
}

int main(void)
{
	T_RUN(wrong_answers_do_not_move_the_deadline);
	T_RUN(an_answer_in_single_bytes_does_not_move_the_deadline);
	T_RUN(an_answer_that_came_in_time_counts);
	return t_end();
}
