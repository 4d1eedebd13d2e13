/* Tests the server's end of a leash: requests and answers, output for the log, the end of the
 * leash, and freeing the leash at any time. */
#include "client/leash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"
#include "wire/leash.h"

static struct loop *loop;
static struct leash *leash;
static int far; /* the supervisor's end */
static char said[256];
static bool free_in_callback;
static struct err e;

static void note(const char *what)
{
	strncat(said, what, sizeof(said) - strlen(said) - 1);
	strncat(said, ";", sizeof(said) - strlen(said) - 1);
}

static void on_gone(void *arg)
{
	note("gone");
	loop_stop(loop);
	if (free_in_callback)
		leash_free(leash);
}

static void on_answer(void *arg, const struct err *why)
{
	char text[64];

	snprintf(text, sizeof(text), "%s=%s", (const char *)arg,
		 why ? err_code_name(why->code) : "ok");
	note(text);
	if (free_in_callback)
		leash_free(leash);
	loop_stop(loop);
}

static void begin(void)
{
	int pair[2];

	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	T_INT(loop_new(&loop), 0);
	far = pair[1];
	said[0] = '\0';
	free_in_callback = false;
	T_INT(leash_new(loop, pair[0], on_gone, NULL, &leash, &e), 0);
}

static void end(void)
{
	if (!free_in_callback)
		leash_free(leash);
	loop_free(loop);
	fd_closep(&far);
}

static void tell(enum frame_type type, const void *p, size_t n)
{
	AUTO_BUF b = BUF_INIT(1024);

	frame_put(&b, type, 0, 0, p, n);
	T_INT(write(far, b.p, b.n), b.n);
}

static int ask(const char *name)
{
	struct limits_message m = { .memory_mib = 5, .pids = 7 };

	return leash_set_limits(leash, &m, on_answer, (void *)name, &e);
}

static void a_request_and_its_answers(void)
{
	AUTO_BUF body = BUF_INIT(64);
	struct limits_message m;
	struct frame f;
	struct str rest;
	char bytes[256];
	ssize_t n;

	begin();
	T_INT(ask("a"), 0);
	n = read(far, bytes, sizeof(bytes));
	T_TRUE(n > 1 && bytes[0] == LEASH_LIMITS);
	rest = (struct str){ bytes + 1, (size_t)n - 1 };
	T_INT(frame_next(&rest, &f), 1);
	T_TRUE(rest.n == 0 && f.type == FRAME_LIMITS);
	T_INT(limits_decode(f.body, &m), 0);
	T_TRUE(m.memory_mib == 5 && m.cpu_milli == 0 && m.pids == 7);
	T_INT(ask("b"), 0);
	error_encode(&body, ERR_UNSUPPORTED, "no group");
	tell(FRAME_ERROR, body.p, body.n);
	T_INT(loop_run(loop), 0);
	tell(FRAME_OK, NULL, 0);
	T_INT(loop_run(loop), 0);
	T_STR(said, "a=unsupported;b=ok;");
	end();
}

static void the_end_answers_waiting_requests(void)
{
	begin();
	T_INT(ask("a"), 0);
	T_INT(ask("b"), 0);
	fd_closep(&far);
	T_INT(loop_run(loop), 0);
	T_STR(said, "a=not_running;b=not_running;gone;");
	T_INT(ask("c"), -1);
	T_INT(e.code, ERR_NOT_RUNNING);
	end();
}

static void no_requests_after_ending_the_leash(void)
{
	char byte;

	begin();
	leash_end(leash);
	T_INT(read(far, &byte, 1), 0);
	T_INT(ask("a"), -1);
	fd_closep(&far);
	T_INT(loop_run(loop), 0);
	T_STR(said, "gone;");
	end();
}

static void freed_in_a_callback(void)
{
	begin();
	free_in_callback = true;
	T_INT(ask("a"), 0);
	T_INT(ask("b"), 0);
	tell(FRAME_OK, NULL, 0);
	tell(FRAME_OK, NULL, 0);
	T_INT(loop_run(loop), 0);
	T_STR(said, "a=ok;");
	end();
	begin();
	free_in_callback = true;
	T_INT(ask("a"), 0);
	fd_closep(&far);
	T_INT(loop_run(loop), 0);
	T_STR(said, "a=not_running;");
	end();
	begin();
	free_in_callback = true;
	fd_closep(&far);
	T_INT(loop_run(loop), 0);
	T_STR(said, "gone;");
	end();
}

static void answers_without_a_request(void)
{
	static const char nonsense[64] = { (char)0xff, (char)0xff, (char)0xff, (char)0xff,
					   1,          1,          1,          1 };

	begin();
	T_INT(ask("a"), 0);
	tell(FRAME_PONG, NULL, 0);
	T_INT(write(far, nonsense, sizeof(nonsense)), sizeof(nonsense));
	T_INT(loop_run(loop), 0);
	T_TRUE(strstr(said, "gone;") != NULL);
	end();
}

static void requests_are_bounded(void)
{
	begin();
	for (unsigned i = 0; i < LEASH_REQUESTS_MAX; i++)
		T_INT(ask("a"), 0);
	T_INT(ask("b"), -1);
	T_INT(e.code, ERR_LIMIT);
	end();
	T_STR(said, "");
}

/* --- output for the log ----------------------------------------------------------------------- */

static size_t held, held_max;

static bool take(void *arg, size_t n)
{
	if (held + n > held_max)
		return false;
	held += n;
	return true;
}

static void give(void *arg, size_t n)
{
	T_TRUE(n <= held);
	held -= n;
}

static void begin_log(size_t max)
{
	begin();
	held = 0;
	held_max = max;
	leash_set_meter(leash, &(struct leash_meter){ take, give, NULL });
}

/* What the supervisor got. */
static struct buf received;
static size_t log_bytes, markers, limits;
static struct frame last;

static int take_frame(const struct frame *f)
{
	if (f->type == FRAME_LIMITS) {
		limits++;
	} else if (f->type == FRAME_LOG && f->body.n > 12 &&
		   memcmp(f->body.p, "\n[output lost", 13) == 0) {
		markers++;
	} else if (f->type == FRAME_LOG) {
		T_TRUE(f->body.n > 0 && f->body.n <= LEASH_LOG_MAX_BYTES);
		log_bytes += f->body.n;
	}
	last = *f;
	return 0;
}

static void take_messages(void)
{
	struct str rest = { received.p, received.n };
	size_t used = 0;
	struct frame f;

	while (rest.n > 0) {
		struct str frames = { rest.p + 1, rest.n - 1 };

		T_TRUE(rest.p[0] == LEASH_LOG || rest.p[0] == LEASH_LIMITS);
		if (frame_next(&frames, &f) != 1)
			break;
		T_TRUE((rest.p[0] == LEASH_LOG) == (f.type == FRAME_LOG));
		take_frame(&f);
		used += rest.n - frames.n;
		rest = frames;
	}
	buf_drop(&received, used);
}

static void on_time(void *arg)
{
	loop_stop(loop);
}

static void on_far(void *arg, int fd, uint32_t events)
{
	char bytes[32768];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		buf_add(&received, bytes, (size_t)n);
	take_messages();
	/* All output was read. The leash may still send the marker "[output lost…" in this turn of
	 * the loop, so the timer ends the loop one turn later. */
	if (held == 0 && n < (ssize_t)sizeof(bytes))
		loop_add_timer(loop, 1, on_time, NULL);
}

/* Reads everything that the leash sends. */
static void read_all(void)
{
	loop_id watch;

	buf_done(&received);
	buf_init(&received, 8u << 20);
	log_bytes = markers = limits = 0;
	watch = loop_add_fd(loop, far, LOOP_READ, on_far, NULL);
	T_TRUE(watch != 0);
	T_INT(loop_run(loop), 0);
	loop_remove(loop, &watch);
	T_INT(received.n, 0);
}

static void output_goes_to_the_supervisor(void)
{
	static char text[40000];

	memset(text, 'x', sizeof(text));
	begin_log(1u << 20);
	leash_log(leash, 7, FRAME_FLAG_STDERR, text, sizeof(text));
	T_INT(held, 0); /* the socket took everything */
	read_all();
	T_INT(log_bytes, sizeof(text));
	T_INT(markers, 0);
	T_INT(last.stream, 7);
	T_INT(last.flags, FRAME_FLAG_STDERR);
	end();
}

/* While the supervisor does not read, at most LEASH_LOG_QUEUE_BYTES of output may wait in memory,
 * and the rest must be dropped. Requests must not be dropped: the supervisor gets all requests when
 * it reads again. */
static void a_supervisor_that_does_not_read(void)
{
	static char text[65536];
	size_t most = 0;

	begin_log(SIZE_MAX / 2);
	for (unsigned i = 0; i < 100; i++) {
		leash_log(leash, i, 0, text, sizeof(text));
		most = held > most ? held : most;
	}
	T_TRUE(most > LEASH_LOG_QUEUE_BYTES / 2 && most <= LEASH_LOG_QUEUE_BYTES);
	for (unsigned i = 0; i < LEASH_REQUESTS_MAX; i++)
		T_INT(ask("a"), 0);
	read_all();
	T_TRUE(log_bytes >= LEASH_LOG_QUEUE_BYTES / 2 && log_bytes < 2 * LEASH_LOG_QUEUE_BYTES);
	T_INT(markers, 1);
	T_INT(limits, LEASH_REQUESTS_MAX);
	T_INT(held, 0);
	leash_log(leash, 1, 0, "again", 5);
	read_all();
	T_INT(log_bytes, 5);
	T_INT(markers, 0);
	end();
}

static void no_memory_for_output(void)
{
	begin_log(0);
	leash_log(leash, 1, 0, "lost", 4);
	held_max = 1000;
	leash_log(leash, 1, 0, "there", 5);
	read_all();
	T_INT(markers, 1);
	T_INT(log_bytes, 5);
	end();
}

static void the_end_gives_the_memory_back(void)
{
	static char text[65536];

	for (unsigned way = 0; way < 3; way++) {
		begin_log(SIZE_MAX / 2);
		for (unsigned i = 0; i < 10; i++)
			leash_log(leash, i, 0, text, sizeof(text));
		T_TRUE(held > 0);
		if (way == 0)
			leash_end(leash);
		else if (way == 1)
			fd_closep(&far);
		if (way == 1)
			T_INT(loop_run(loop), 0);
		/* ways 0 and 1 have ended the leash, so it drops this output */
		leash_log(leash, 1, 0, text, sizeof(text));
		T_TRUE(way == 2 || held == 0);
		end();
		T_INT(held, 0);
	}
}

int main(void)
{
	T_RUN(output_goes_to_the_supervisor);
	T_RUN(a_supervisor_that_does_not_read);
	T_RUN(no_memory_for_output);
	T_RUN(the_end_gives_the_memory_back);
	T_RUN(a_request_and_its_answers);
	T_RUN(the_end_answers_waiting_requests);
	T_RUN(no_requests_after_ending_the_leash);
	T_RUN(freed_in_a_callback);
	T_RUN(answers_without_a_request);
	T_RUN(requests_are_bounded);
	return t_end();
}
