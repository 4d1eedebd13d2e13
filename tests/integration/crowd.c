/*
 * A small server: many commands at once over lines to many sandboxes, in one thread on the loop. A third feeds a
 * command and compares what comes back, a third prints on both outputs, a third is cancelled. It fails if an output
 * or a status is wrong, or if any handler of the loop gave up the CPU.
 *
 * usage: crowd ROUNDS COMMANDS MARK SANDBOX…    (CORDON_HOME says where they are)
 *
 * COMMANDS run in each sandbox at once, ROUNDS times; 0 rounds never end. Those to be cancelled sleep for MARK seconds.
 * Prints a line for each round.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "client/call.h"
#include "client/job.h"
#include "state/home.h"

#define FED_BYTES 200000 /* more than a pipe holds: input has to wait for output */

enum kind { FED, TALKER, CANCELLED, KINDS };

struct command {
	struct job *job;
	struct server *server;
	struct line *line;
	unsigned number;
	enum kind kind;
	size_t fed, out, err;
	bool bad;
};

struct server {
	struct loop *loop;
	struct line **line;
	unsigned n_lines, n_commands, left;
	uint64_t rounds, round;
	const char *mark;
	struct command *command;
	unsigned blocked, wrong;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "crowd: %s\n", what);
	exit(2);
}

static char fed_byte(size_t at)
{
	return (char)('a' + at % 23);
}

static void wrong(struct command *c, const char *what)
{
	if (!c->bad)
		fprintf(stderr, "crowd: command %u: %s\n", c->number, what);
	c->bad = true;
	c->server->wrong++;
}

static void feed(void *arg)
{
	struct command *c = arg;
	char chunk[4096];

	while (c->fed < FED_BYTES) {
		size_t n = FED_BYTES - c->fed < sizeof(chunk) ? FED_BYTES - c->fed : sizeof(chunk);
		ssize_t k;

		for (size_t i = 0; i < n; i++)
			chunk[i] = fed_byte(c->fed + i);
		k = job_input(c->job, chunk, n);
		if (k < 0)
			return wrong(c, "its input was closed");
		c->fed += (size_t)k;
		if ((size_t)k < n)
			return;
	}
	job_input_end(c->job);
}

static void resume(void *arg)
{
	job_resume(((struct command *)arg)->job);
}

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct command *c = arg;

	if (c->kind == FED)
		for (size_t i = 0; i < n; i++)
			if (p[i] != fed_byte(c->out + i))
				wrong(c, "another output than its input");
	*(which == JOB_STDOUT ? &c->out : &c->err) += n;
	if (c->kind == CANCELLED)
		job_cancel(c->job); /* it runs: its children are there */
	if (c->kind != FED || c->out % 3)
		return true;
	loop_add_timer(c->server->loop, 1, resume, c); /* no more for now */
	return false;
}

static void start_round(void *arg);

static void on_end(void *arg, const struct job_end *end)
{
	struct command *c = arg;
	struct server *s = c->server;
	int want = (int)(c->number % 100);

	if (end->err)
		wrong(c, end->err->msg);
	else if (c->kind == CANCELLED ? end->end.signal != SIGKILL || !end->cancelled
				      : exec_exit_status(&end->end) != want) {
		char text[128];

		snprintf(text, sizeof(text),
			 "another status: failure %d (%d), code %u, signal %u, timed out %d",
			 end->end.failure, end->end.sys, end->end.code, end->end.signal,
			 end->end.timed_out);
		wrong(c, text);
	}
	if (c->kind == FED && (c->out != FED_BYTES || c->err))
		wrong(c, "less output than input");
	if (c->kind == TALKER && (c->out != 20000 || c->err != 10000))
		wrong(c, "less output than it printed");
	job_free(c->job);
	c->job = NULL;
	if (--s->left > 0)
		return;
	printf("round %u: %u commands\n", (unsigned)s->round, s->n_commands);
	fflush(stdout);
	if (s->wrong || (s->rounds && s->round == s->rounds))
		loop_stop(s->loop);
	else
		loop_add_timer(s->loop, 1, start_round, s);
}

static void start_command(struct command *c)
{
	char code[8];
	const char *script[KINDS] = {
		[FED] = "cat; exit $1",
		[TALKER] = "i=0; while [ $i -lt 1000 ]; do echo 0123456789012345678; echo "
			   "012345678 >&2; "
			   "i=$((i+1)); done; exit $1",
		[CANCELLED] = "sleep $2 & setsid sleep $2 & echo ready; wait",
	};
	const char *argv[] = { "sh", "-c", script[c->kind], "sh", code, c->server->mark, NULL };
	struct exec_message m = { .argv = argv,
				  .n_argv = ARRAY_SIZE(argv) - 1,
				  .flags = EXEC_WHOLE,
				  .timeout_ms = c->number % 2 ? 100000 : 0 };
	struct job_owner owner = { .output = on_output, .room = feed, .end = on_end, .arg = c };
	struct err e = { 0 };

	snprintf(code, sizeof(code), "%u", c->number % 100);
	if (job_start(c->line, &m, c->kind == FED, &owner, &c->job, &e) < 0)
		die(e.msg);
	if (c->kind == FED)
		feed(c);
}

static void start_round(void *arg)
{
	struct server *s = arg;

	s->round++;
	s->left = s->n_commands;
	for (unsigned i = 0; i < s->n_commands; i++) {
		s->command[i] =
			(struct command){ .server = s,
					  .line = s->line[i % s->n_lines],
					  .number = i,
					  .kind = (enum kind)((i + i / s->n_lines) % KINDS) };
		start_command(&s->command[i]);
	}
}

static void on_gone(void *arg, const struct err *why)
{
	die(why->msg);
}

static void on_blocked(void *arg, const void *handler)
{
	struct server *s = arg;

	if (s->blocked++ < 5)
		fprintf(stderr, "crowd: the handler at %p gave up the CPU\n", handler);
}

int main(int argc, char **argv)
{
	struct server s = { 0 };
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	uint64_t each;

	if (argc < 5 || parse_u64(argv[1], 0, 1000000, &s.rounds) < 0 ||
	    parse_u64(argv[2], 1, LINE_STREAMS_MAX, &each) < 0)
		die("usage: crowd ROUNDS COMMANDS MARK SANDBOX…");
	signal(SIGPIPE, SIG_IGN);
	s.mark = argv[3];
	s.n_lines = (unsigned)argc - 4;
	s.n_commands = s.n_lines * (unsigned)each;
	s.line = xcalloc(s.n_lines, sizeof(*s.line));
	s.command = xcalloc(s.n_commands, sizeof(*s.command));
	if (loop_new(&s.loop) < 0 || home_open(&home, &e) < 0)
		die(e.msg);
	for (unsigned i = 0; i < s.n_lines; i++) {
		int fd;

		if (home_connect(&home, argv[4 + i], "sock", &fd) < 0)
			die("cannot connect");
		if (line_new(s.loop, argv[4 + i], fd, on_gone, NULL, &s.line[i], &e) < 0)
			die(e.msg);
	}
	loop_watch_blocking(s.loop, on_blocked, &s);
	loop_add_timer(s.loop, 1, start_round, &s);
	if (loop_run(s.loop) < 0)
		die("the loop failed");
	for (unsigned i = 0; i < s.n_lines; i++)
		line_free(s.line[i]);
	loop_free(s.loop);
	free(s.line);
	free(s.command);
	printf("wrong: %u, blocked: %u\n", s.wrong, s.blocked);
	return s.wrong || s.blocked;
}
