/* A hijacked skill worker sends any bytes to the server. If the first byte of the input is odd, the
 * worker sends a good hello before these bytes. Every request must get exactly one reply, and the
 * server must hold no memory afterwards. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "service/skills.h"

#define BYTES_MAX 65536u /* as much as a socket holds, so that no write blocks */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static unsigned replies;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_reply(void *arg, const struct fault *f, struct buf *data)
{
	check(!f == (data && data->n > 0));
	replies++;
}

static int worker; /* the worker's end of its socket to the server */

/* Stops the loop when the server has dropped the ended worker. */
static void stop_if_dropped(void *arg)
{
	char c[4096];
	ssize_t n;

	while ((n = recv(worker, c, sizeof(c), MSG_DONTWAIT)) > 0)
		;
	if (n == 0 || errno == ECONNRESET)
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns(), stop_if_dropped, NULL);
}

static void stop_if_asked(void *arg)
{
	char c;

	if (recv(worker, &c, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns(), stop_if_asked, NULL);
}

static void run(loop_timer_fn *fn)
{
	loop_add_timer(loop, clock_mono_ns(), fn, NULL);
	check(loop_run(loop) == 0);
}

static void say(const void *p, size_t n)
{
	check(n == 0 || send(worker, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n);
}

/* Gives the server a worker that sends the bytes and then ends. If POLITE, the worker sends a good
 * hello first. Returns false if the server asks for no worker. */
static bool give_worker(int channel, int pidfd, bool polite, const uint8_t *data, size_t size)
{
	static const char hello[] = "\x0b\0\0\0{\"ok\":true}";
	char ask[SKILLS_ASK_MAX];
	int pair[2];

	if (recv(channel, ask, sizeof(ask), MSG_DONTWAIT) <= 0)
		return false;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	check(fdpass_send(channel, SKILLS_WORKER, 1, (int[]){ pair[1], pidfd }, 2) == 0);
	close(pair[1]);
	worker = pair[0];
	if (polite) {
		say(hello, sizeof(hello) - 1);
		run(stop_if_asked);
	}
	say(data, size);
	check(shutdown(worker, SHUT_WR) == 0);
	run(stop_if_dropped);
	close(worker);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char request[] = "{\"path\":\"/a\"}";
	const struct reply r = { on_reply, NULL };
	struct ceiling ceiling = { .max = 1u << 20 };
	AUTO_JSON doc = NULL;
	struct skills *s;
	struct tenant legacy;
	struct err e;
	int pair[2];
	/* the server gets the read end of a pipe as the worker's pidfd, so that it cannot kill a
	 * process */
	int none[2];

	if (size == 0 || size > BYTES_MAX)
		return 0;
	check(loop_new(&loop) == 0 && pipe(none) == 0);
	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	check(skills_new(loop, pair[1], &ceiling, &s) == 0);
	check(json_parse(request, sizeof(request) - 1, &doc, &e) == 0);
	tenant_init_legacy(&legacy);
	replies = 0;
	skills_ask(s, "scan", &legacy, json_root(doc), (struct skills_file){ .fd = -1 }, &r);
	skills_ask(s, "list", &legacy, json_root(doc), (struct skills_file){ .fd = -1 }, &r);
	/* Each of the two requests takes at most three workers: a worker may answer "again" with
	 * "source" once and with "root" once, and each time the server asks for another worker. */
	for (unsigned i = 0;
	     i < 6 && give_worker(pair[0], none[0], data[0] & 1, data + 1, size - 1); i++)
		;
	check(replies == 2 && ceiling.used == 0);
	skills_free(s);
	loop_free(loop);
	close(pair[0]);
	close(none[0]);
	close(none[1]);
	return 0;
}
