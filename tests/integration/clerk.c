/*
 * A small client that uses client/ask and client/job, for one sandbox. Each word on the command
 * line is one step. The client does the steps in order, over one connection. It prints the result
 * of each step, except of `end` and `term`. If a request is refused, it prints the error code.
 *
 * usage: clerk SANDBOX WORD…    (the sandbox is in CORDON_HOME)
 *
 *   start:SCRIPT   start a background command that runs SCRIPT in Python and may report; the steps
 *                  below, except `list`, are about this command
 *   feed:TEXT      give the command a line of input
 *   end            end the command's input
 *   until:TEXT     look until the command's output has TEXT
 *   term           send SIGTERM to everything that the command started
 *   list           list all commands
 *   attach         attach to the command and print its output until it ends
 *   wait           look until the command has ended, and make pid 1 forget it
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/ask.h"
#include "client/call.h"
#include "client/job.h"
#include "state/home.h"

static struct loop *loop;
static struct line *line;
static char **words;
static struct ask *ask;
static struct job *job;
static uint64_t id;
static struct command_message seen;
static struct buf output = BUF_INIT(1 << 20);

static void next(void *arg);

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "clerk: %s\n", what);
	exit(2);
}

static void go_on(void)
{
	fflush(stdout);
	loop_add_timer(loop, 1, next, NULL);
}

static void print_end(const struct exit_message *end)
{
	printf("ended: %d\n", exec_exit_status(end));
}

/* --- questions ------------------------------------------------------------------------------- */

static void on_command(void *arg, const struct command_message *m)
{
	seen = *m;
	buf_clear(&output);
	buf_add(&output, m->data.p, m->data.n);
	if (strcmp(words[-1], "list") == 0)
		printf("command %u:%s%s%s %s\n", (unsigned)(m->id - id),
		       m->flags & COMMAND_BACKGROUND ? " background" : " foreground",
		       m->flags & COMMAND_ATTACHED ? " attached" : "",
		       m->flags & COMMAND_ENDED ? " ended" : "", m->words.n ? m->words.p : "");
}

static int look(bool for_more, struct err *e);

/* One turn of the step `until:`. Returns true if the whole output has TEXT or the command has
 * ended. Otherwise sends the next LOOK and returns false. Two kinds of LOOK alternate: the first
 * waits for new output, the second asks for all output. Only the answer to the second kind is
 * searched. */
static bool is_found(const char *text)
{
	static bool waited;
	struct err e;

	if (!waited && (strstr(buf_str(&output), text) || seen.flags & COMMAND_ENDED))
		return true;
	waited = !waited;
	if (look(waited, &e) < 0)
		die(e.msg);
	return false;
}

static void on_done(void *arg, const struct answer *a)
{
	const char *word = words[-1];

	ask_free(TAKE(ask));
	if (a->err) {
		printf("error %d: %s\n", (int)a->err->code, a->err->msg);
	} else if (strncmp(word, "start:", 6) == 0) {
		id = a->id;
		if (id)
			printf("started\n");
		else
			printf("not started: %s\n", exec_failure_text(a->end.failure));
	} else if (strncmp(word, "until:", 6) == 0) {
		if (!is_found(word + 6))
			return;
		printf("output: %s", buf_str(&output));
	} else if (strcmp(word, "wait") == 0) {
		print_end(&seen.end);
	} else if (strncmp(word, "feed:", 5) == 0) {
		printf("taken: %u\n", (unsigned)seen.taken);
	}
	go_on();
}

static const struct ask_owner asks = { .command = on_command, .done = on_done };

/* Asks pid 1 for the state of the command. With FOR_MORE, pid 1 answers when there is more output
 * than before. In the step `wait`, pid 1 answers when the command has ended, and forgets it. */
static int look(bool for_more, struct err *e)
{
	const char *word = words[-1];
	struct look_message m = { .id = id, .most = BACKGROUND_OUTPUT_BYTES };

	if (strcmp(word, "wait") == 0)
		m.flags = LOOK_UNTIL_END | LOOK_TAKE;
	if (for_more)
		m = (struct look_message){ .id = id,
					   .flags = LOOK_UNTIL_OUTPUT,
					   .offset = seen.total };
	return ask_look(line, &m, &asks, &ask, e);
}

static int start(const char *script, struct err *e)
{
	const char *argv[] = { "/usr/bin/python3", "-c", script, NULL };
	struct exec_message m = {
		.argv = argv, .n_argv = 3, .flags = EXEC_REPORTS, .timeout_ms = 60000
	};

	return ask_start(line, &m, &asks, &ask, e);
}

static int feed(const char *text, bool end, struct err *e)
{
	AUTO_BUF b = BUF_INIT(4096);

	if (!end)
		buf_addf(&b, "%s\n", text);
	return ask_feed(line, &(struct feed_message){ .id = id, .end = end, .data = { b.p, b.n } },
			&asks, &ask, e);
}

/* --- a job ----------------------------------------------------------------------------------- */

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	printf("%s: %.*s", which == JOB_STDERR ? "stderr" : "stdout", (int)n, p);
	return true;
}

static void on_end(void *arg, const struct job_end *j)
{
	if (j->err)
		printf("error %d: %s\n", (int)j->err->code, j->err->msg);
	else
		print_end(&j->end);
	if (j->report.p)
		printf("report: %.*s\n", (int)j->report.n, j->report.p);
	job_free(TAKE(job));
	go_on();
}

static int attach(struct err *e)
{
	static const struct job_owner owner = { .output = on_output, .end = on_end };

	return job_attach(line, &(struct attach_message){ .id = id }, &owner, &job, e);
}

/* --- one thing after the other --------------------------------------------------------------- */

static void next(void *arg)
{
	const char *word = *words;
	struct err e = { 0 };
	int r = 0;

	if (!word) {
		loop_stop(loop);
		return;
	}
	words++;
	if (strncmp(word, "start:", 6) == 0)
		r = start(word + 6, &e);
	else if (strncmp(word, "feed:", 5) == 0)
		r = feed(word + 5, false, &e);
	else if (strcmp(word, "end") == 0)
		r = feed("", true, &e);
	else if (strncmp(word, "until:", 6) == 0 || strcmp(word, "wait") == 0)
		r = look(false, &e);
	else if (strcmp(word, "term") == 0)
		r = ask_signal(line, id, SIGTERM, true, &asks, &ask, &e);
	else if (strcmp(word, "list") == 0)
		r = ask_list(line, &asks, &ask, &e);
	else if (strcmp(word, "attach") == 0)
		r = attach(&e);
	else
		die("what?");
	if (r < 0) {
		printf("error %d: %s\n", (int)e.code, e.msg);
		go_on();
	}
}

static void on_gone(void *arg, const struct err *why)
{
	die(why->msg);
}

int main(int argc, char **argv)
{
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	int fd;

	if (argc < 3)
		die("usage: clerk SANDBOX WORD…");
	words = argv + 2;
	if (loop_new(&loop) < 0 || home_open(&home, &e) < 0)
		die(e.msg);
	if (home_connect(&home, argv[1], "sock", &fd) < 0)
		die("cannot connect");
	if (line_new(loop, argv[1], fd, on_gone, NULL, &line, &e) < 0)
		die(e.msg);
	loop_add_timer(loop, 1, next, NULL);
	if (loop_run(loop) < 0)
		die("the loop failed");
	line_free(line);
	loop_free(loop);
	buf_done(&output);
	return 0;
}
