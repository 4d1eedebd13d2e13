/* Tests the server's end of a leash: requests and answers, the end of the leash, and freeing the leash at any
 * time. */
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

int main(void)
{
	T_RUN(a_request_and_its_answers);
	T_RUN(the_end_answers_waiting_requests);
	T_RUN(no_requests_after_ending_the_leash);
	T_RUN(freed_in_a_callback);
	T_RUN(answers_without_a_request);
	T_RUN(requests_are_bounded);
	return t_end();
}
