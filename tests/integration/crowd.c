#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/job.h"

#define FED_BYTES 200000 /* more than a pipe holds, so input must wait for output */

enum kind { FED, TALKER, CANCELLED, KINDS };

struct command {
	struct job *job;
	struct crowd *crowd;
	struct line *line;
	unsigned number;
	enum kind kind;
	size_t fed, out, err;
	bool closed; /* the command reads no more of its input */
	bool bad;
};

struct crowd {
	struct crowd_plan plan;
	unsigned n_commands, left, round, swept, wrong;
	struct command *command;
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
	c->crowd->wrong++;
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
		if (k < 0) {
			c->closed = true;
			return;
		}
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
		job_cancel(c->job); /* output shows that the command runs and has its children */
	if (c->kind != FED || c->out % 3)
		return true;
	loop_add_timer(c->crowd->plan.loop, 1, resume, c); /* take no output until resume() */
	return false;
}

static void start_round(void *arg);

static void check_end(struct command *c, const struct job_end *end)
{
	int want = (int)(c->number % 100);

	if (c->kind == CANCELLED ? end->end.signal != SIGKILL || !end->cancelled
				 : exec_exit_status(&end->end) != want) {
		char text[128];

		snprintf(text, sizeof(text),
			 "another status: failure %d (%d), code %u, signal %u, timed out %d",
			 end->end.failure, end->end.sys, end->end.code, end->end.signal,
			 end->end.timed_out);
		wrong(c, text);
	}
	if (c->kind == FED && (c->closed || c->out != FED_BYTES || c->err))
		wrong(c, "less output than input");
	if (c->kind == TALKER && (c->out != 20000 || c->err != 10000))
		wrong(c, "less output than it printed");
}

static void on_end(void *arg, const struct job_end *end)
{
	struct command *c = arg;
	struct crowd *s = c->crowd;

	/* `swept` means that pid 1 ended everything in the sandbox. Without cgroups pid 1 does
	 * this if a cancelled command does not end within a second. So other commands of the round
	 * may end early, and this is no mistake of the server. */
	if (end->err)
		wrong(c, end->err->msg);
	else if (end->end.swept)
		s->swept++;
	else
		check_end(c, end);
	job_free(c->job);
	c->job = NULL;
	if (--s->left > 0)
		return;
	printf("round %u: %u commands, %u swept\n", s->round, s->n_commands, s->swept);
	fflush(stdout);
	if (!s->wrong && (!s->plan.rounds || s->round < s->plan.rounds)) {
		loop_add_timer(s->plan.loop, 1, start_round, s);
		return;
	}
	s->plan.end(s->plan.arg, s->wrong);
	free(s->command);
	free(s);
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
	const char *argv[] = { "sh", "-c", script[c->kind], "sh", code, c->crowd->plan.mark, NULL };
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
	struct crowd *s = arg;

	s->round++;
	s->left = s->n_commands;
	for (unsigned i = 0; i < s->n_commands; i++) {
		s->command[i] =
			(struct command){ .crowd = s,
					  .line = s->plan.line[i % s->plan.n_lines],
					  .number = i,
					  .kind = (enum kind)((i + i / s->plan.n_lines) % KINDS) };
		start_command(&s->command[i]);
	}
}

void crowd_start(const struct crowd_plan *p)
{
	struct crowd *s = xcalloc(1, sizeof(*s));

	s->plan = *p;
	s->n_commands = p->n_lines * p->each;
	s->command = xcalloc(s->n_commands, sizeof(*s->command));
	loop_add_timer(p->loop, 1, start_round, s);
}
