/* Tests questions about background commands over a line, and a job that attaches to such a command.
 * This program also acts as pid 1, at the socket `peer`. */
#include "client/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/job.h"
#include "t.h"

#define TAG_VERSION 1
#define TAG_OLDEST 2
#define TURNS 1000 /* turns of the loop, at most 1 ms each; no case needs so many */

static struct loop *loop;
static struct line *line;
static int peer;
static struct buf heard;
static struct err line_why;

/* --- the peer -------------------------------------------------------------------------------- */

static struct {
	unsigned lists, looks, feeds, signals, execs, attaches, detaches, inputs;
	uint32_t stream; /* stream of the last request */
	uint64_t id;
	unsigned flags;
} asked;

static int take_question(void *arg, const struct frame *f)
{
	struct look_message look;
	struct feed_message feed;
	struct signal_message sig;
	struct exec_message exec;
	struct attach_message attach;

	switch (f->type) {
	case FRAME_LIST:
		asked.lists++;
		break;
	case FRAME_LOOK:
		asked.looks++;
		T_INT(look_decode(f->body, &look), 0);
		asked.id = look.id;
		asked.flags = (unsigned)look.flags;
		break;
	case FRAME_FEED:
		asked.feeds++;
		T_INT(feed_decode(f->body, &feed), 0);
		asked.id = feed.id;
		break;
	case FRAME_SIGNAL:
		asked.signals++;
		T_INT(signal_decode(f->body, &sig), 0);
		asked.id = sig.id;
		asked.flags = f->flags;
		break;
	case FRAME_EXEC:
		asked.execs++;
		T_INT(exec_decode(f->body, &exec), 0);
		asked.flags = exec.flags;
		exec_message_done(&exec);
		break;
	case FRAME_ATTACH:
		asked.attaches++;
		T_INT(attach_decode(f->body, &attach), 0);
		asked.id = attach.id;
		break;
	case FRAME_DETACH:
		asked.detaches++;
		break;
	case FRAME_STDIN:
		asked.inputs++;
		return 0;
	default:
		return 0;
	}
	asked.stream = f->stream;
	return 0;
}

/* Reads all frames that have come to the peer. */
static void hear(void)
{
	char chunk[8192];
	ssize_t n;

	while ((n = recv(peer, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		T_INT(frame_feed(&heard, chunk, (size_t)n, take_question, NULL), 0);
}

static void say(const struct buf *b)
{
	T_INT(send(peer, b->p, b->n, MSG_NOSIGNAL), (ssize_t)b->n);
}

static void say_hello(unsigned version)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_HELLO, 0, 0);

	field_put_u64(&b, TAG_VERSION, version);
	field_put_u64(&b, TAG_OLDEST, 1);
	frame_end(&b, at);
	say(&b);
}

static void say_frame(enum frame_type type, unsigned flags, uint32_t stream, const char *text)
{
	AUTO_BUF b = BUF_INIT(1024);

	frame_put(&b, type, flags, stream, text, strlen(text));
	say(&b);
}

static void say_command(uint32_t stream, const struct command_message *m)
{
	AUTO_BUF b = BUF_INIT(4096);
	size_t at = frame_begin(&b, FRAME_COMMAND, 0, stream);

	command_encode(&b, m);
	frame_end(&b, at);
	say(&b);
}

static void say_started(uint32_t stream)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_STARTED, 0, stream);

	started_encode(&b, 12);
	frame_end(&b, at);
	say(&b);
}

static void say_exit(uint32_t stream, const struct exit_message *m)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_EXIT, 0, stream);

	exit_encode(&b, m);
	frame_end(&b, at);
	say(&b);
}

static void say_error(uint32_t stream, enum err_code code)
{
	AUTO_BUF b = BUF_INIT(256);
	size_t at = frame_begin(&b, FRAME_ERROR, 0, stream);

	error_encode(&b, (unsigned)code, "no");
	frame_end(&b, at);
	say(&b);
}

/* --- the loop and the owners ----------------------------------------------------------------- */

struct owner {
	struct ask *ask;
	unsigned told, done;
	enum err_code code;
	uint64_t id, last;
	struct exit_message end;
	bool frees;
};

static unsigned turns;
static const unsigned *awaited;
static unsigned enough;

static void turn(void *arg)
{
	hear();
	if (turns++ >= TURNS || (awaited && *awaited >= enough))
		loop_stop(loop);
	else
		loop_add_timer(loop, clock_mono_ns() + NS_PER_MS, turn, NULL);
}

/* Runs the loop until *N is at least WANT. */
static void until(const unsigned *n, unsigned want)
{
	turns = 0;
	awaited = n;
	enough = want;
	loop_add_timer(loop, clock_mono_ns(), turn, NULL);
	T_INT(loop_run(loop), 0);
	T_INT(*n, want);
}

/* Runs the loop for a while. A test calls this before it checks that something did not happen. */
static void pass_time(void)
{
	turns = TURNS - 10;
	awaited = NULL;
	loop_add_timer(loop, clock_mono_ns(), turn, NULL);
	T_INT(loop_run(loop), 0);
}

static void on_command(void *arg, const struct command_message *m)
{
	struct owner *o = arg;

	o->told++;
	o->last = m->id;
}

static void on_done(void *arg, const struct answer *a)
{
	struct owner *o = arg;

	o->done++;
	o->code = a->err ? a->err->code : ERR_NONE;
	o->id = a->id;
	o->end = a->end;
	if (o->frees) {
		ask_free(o->ask);
		o->ask = NULL;
	}
}

static struct ask_owner owned_by(struct owner *o)
{
	*o = (struct owner){ .frees = o->frees };
	return (struct ask_owner){ .command = on_command, .done = on_done, .arg = o };
}

static void on_gone(void *arg, const struct err *why)
{
	line_why = *why;
}

static void begin(void)
{
	int fds[2];
	struct err e;

	memset(&asked, 0, sizeof(asked));
	line_why = (struct err){ 0 };
	T_INT(loop_new(&loop), 0);
	T_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	peer = fds[1];
	buf_init(&heard, FRAME_BODY_MAX_BYTES);
	T_INT(line_new(loop, "box", fds[0], on_gone, NULL, &line, &e), 0);
}

static void end(void)
{
	line_free(line);
	loop_free(loop);
	close(peer);
	buf_done(&heard);
}

/* --- questions ------------------------------------------------------------------------------- */

static void a_list(void)
{
	struct owner o = { 0 };
	struct ask_owner a = owned_by(&o);
	struct err e;

	begin();
	say_hello(2);
	T_INT(ask_list(line, &a, &o.ask, &e), 0);
	until(&asked.lists, 1);
	say_command(asked.stream, &(struct command_message){ .id = 3 });
	say_command(asked.stream, &(struct command_message){ .id = 5 });
	until(&o.told, 2);
	T_INT(o.done, 0);
	say_frame(FRAME_PONG, 0, asked.stream, "");
	until(&o.done, 1);
	T_INT(o.last, 5);
	T_INT(o.code, ERR_NONE);
	ask_free(o.ask);
	end();
}

static void each_other_question_gets_one_answer(void)
{
	struct owner look = { 0 }, feed = { .frees = true }, sig = { 0 };
	struct ask_owner a;
	struct err e;

	begin();
	say_hello(2);
	a = owned_by(&look);
	T_INT(ask_look(line, &(struct look_message){ .id = 7, .flags = LOOK_UNTIL_END }, &a,
		       &look.ask, &e),
	      0);
	until(&asked.looks, 1);
	T_INT(asked.id, 7);
	T_INT(asked.flags, LOOK_UNTIL_END);
	say_command(asked.stream, &(struct command_message){ .id = 7 });
	until(&look.done, 1);
	T_INT(look.told, 1);
	ask_free(look.ask);
	T_INT(asked.looks, 1);
	a = owned_by(&feed);
	T_INT(ask_feed(line, &(struct feed_message){ .id = 8, .data = { "x", 1 } }, &a, &feed.ask,
		       &e),
	      0);
	until(&asked.feeds, 1);
	say_error(asked.stream, ERR_BUSY);
	until(&feed.done, 1); /* the callback frees the question */
	T_INT(feed.code, ERR_BUSY);
	a = owned_by(&sig);
	T_INT(ask_signal(line, 9, SIGTERM, true, &a, &sig.ask, &e), 0);
	until(&asked.signals, 1);
	T_INT(asked.id, 9);
	T_INT(asked.flags, FRAME_FLAG_SCOPE);
	say_command(asked.stream, &(struct command_message){ .id = 9 });
	until(&sig.done, 1);
	ask_free(sig.ask);
	end();
}

static void a_command_is_started_or_not(void)
{
	const char *argv[] = { "cat", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1, .flags = EXEC_JOINED };
	struct owner good = { 0 }, bad = { 0 };
	struct ask_owner a;
	struct err e;

	begin();
	say_hello(2);
	a = owned_by(&good);
	T_INT(ask_start(line, &m, &a, &good.ask, &e), 0);
	until(&asked.execs, 1);
	T_INT(asked.flags, EXEC_JOINED | EXEC_BACKGROUND);
	say_started(asked.stream);
	until(&good.done, 1);
	T_INT(good.id, 12);
	ask_free(good.ask);
	a = owned_by(&bad);
	T_INT(ask_start(line, &m, &a, &bad.ask, &e), 0);
	until(&asked.execs, 2);
	say_exit(asked.stream, &(struct exit_message){ .failure = EXEC_NOT_FOUND, .sys = ENOENT });
	until(&bad.done, 1);
	T_INT(bad.id, 0);
	T_INT(bad.end.failure, EXEC_NOT_FOUND);
	ask_free(bad.ask);
	end();
}

static void a_freed_look_gets_no_answer(void)
{
	struct owner o = { 0 };
	struct ask_owner a = owned_by(&o);
	struct err e;
	uint32_t stream;

	begin();
	say_hello(2);
	T_INT(ask_look(line, &(struct look_message){ .id = 7, .flags = LOOK_UNTIL_OUTPUT }, &a,
		       &o.ask, &e),
	      0);
	until(&asked.looks, 1);
	stream = asked.stream;
	ask_free(o.ask);
	until(&asked.looks, 2);
	T_INT(asked.stream, stream);
	T_INT(asked.id, 7);
	T_INT(asked.flags, 0);
	say_command(stream, &(struct command_message){ .id = 7 });
	pass_time();
	T_INT(o.told + o.done, 0);
	end();
}

static void a_lost_line_answers_all_questions(void)
{
	struct owner one = { 0 }, two = { .frees = true };
	struct ask_owner a;
	struct err e;

	begin();
	a = owned_by(&one);
	T_INT(ask_list(line, &a, &one.ask, &e), 0); /* waits for a HELLO that never comes */
	a = owned_by(&two);
	T_INT(ask_list(line, &a, &two.ask, &e), 0);
	shutdown(peer, SHUT_RDWR);
	until(&two.done, 1);
	T_INT(one.done, 1);
	T_INT(one.code, ERR_NOT_RUNNING);
	T_INT(two.code, ERR_NOT_RUNNING);
	T_TRUE(ask_list(line, &a, &two.ask, &e) < 0);
	T_INT(e.code, ERR_NOT_RUNNING);
	ask_free(one.ask);
	end();
}

static void nonsense_ends_the_line(void)
{
	struct owner o = { 0 };
	struct ask_owner a = owned_by(&o);
	struct err e;

	begin();
	say_hello(2);
	T_INT(ask_list(line, &a, &o.ask, &e), 0);
	until(&asked.lists, 1);
	say_command(asked.stream, &(struct command_message){ .id = 0 });
	until(&o.done, 1);
	T_INT(o.code, ERR_PROTOCOL);
	pass_time();
	T_INT(line_why.code, ERR_PROTOCOL);
	ask_free(o.ask);
	end();
}

/* --- an older pid 1 -------------------------------------------------------------------------- */

static void an_older_pid_1_gets_no_questions(void)
{
	const char *argv[] = { "cat", NULL };
	struct exec_message m = { .argv = argv, .n_argv = 1 };
	struct owner list = { 0 }, start = { .frees = true }, late = { 0 };
	struct ask_owner a;
	struct err e = { 0 };

	begin();
	a = owned_by(&list);
	T_INT(ask_list(line, &a, &list.ask, &e), 0);
	a = owned_by(&start);
	T_INT(ask_start(line, &m, &a, &start.ask, &e), 0);
	pass_time();
	/* pid 1 has not said HELLO, so its version is not known, and nothing was sent */
	T_INT(asked.lists + asked.execs, 0);
	say_hello(1);
	until(&start.done, 1);
	T_INT(list.done, 1);
	T_INT(list.code, ERR_UNSUPPORTED);
	T_INT(start.code, ERR_UNSUPPORTED);
	a = owned_by(&late);
	T_TRUE(ask_list(line, &a, &late.ask, &e) < 0);
	T_INT(e.code, ERR_UNSUPPORTED);
	T_STR(e.msg,
	      "sandbox 'box' was started by an older version, which keeps no background commands");
	pass_time();
	T_INT(asked.lists + asked.execs, 0);
	T_TRUE(line_is_up(line)); /* the line stays up, because other commands may use it */
	ask_free(list.ask);
	end();
}

/* --- a job that attaches --------------------------------------------------------------------- */

struct watcher {
	struct job *job;
	char out[2][64];
	size_t n[2];
	unsigned bytes, ends;
	enum err_code code;
	struct exit_message end;
	char report[16];
	bool pauses;
};

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct watcher *w = arg;

	for (size_t i = 0; i < n && w->n[which] < sizeof(w->out[which]) - 1; i++)
		w->out[which][w->n[which]++] = p[i];
	w->bytes += (unsigned)n;
	return !w->pauses;
}

static void on_end(void *arg, const struct job_end *j)
{
	struct watcher *w = arg;

	w->ends++;
	w->code = j->err ? j->err->code : ERR_NONE;
	w->end = j->end;
	snprintf(w->report, sizeof(w->report), "%.*s", (int)j->report.n,
		 j->report.p ? j->report.p : "");
}

static void attach(struct watcher *w)
{
	struct job_owner o = { .output = on_output, .end = on_end, .arg = w };
	struct err e;

	T_INT(job_attach(line, &(struct attach_message){ .id = 12 }, &o, &w->job, &e), 0);
}

static void an_attached_job_gets_output_and_end(void)
{
	struct watcher w = { 0 };

	begin();
	say_hello(2);
	attach(&w);
	until(&asked.attaches, 1);
	T_INT(asked.id, 12);
	say_started(asked.stream);
	say_frame(FRAME_OUTPUT, FRAME_FLAG_KEPT, asked.stream, "out");
	say_frame(FRAME_OUTPUT, FRAME_FLAG_STDERR, asked.stream, "err");
	until(&w.bytes, 6);
	T_STR(w.out[JOB_STDOUT], "out");
	T_STR(w.out[JOB_STDERR], "err");
	T_INT(job_input(w.job, "typed", 5), 5);
	until(&asked.inputs, 1);
	say_frame(FRAME_REPORT, 0, asked.stream, "state");
	say_exit(asked.stream, &(struct exit_message){ .code = 4 });
	until(&w.ends, 1);
	T_INT(w.end.code, 4);
	T_INT(w.code, ERR_NONE);
	T_STR(w.report, "state");
	job_free(w.job);
	T_INT(asked.detaches, 0);
	end();
}

static void output_of_both_kinds_waits_for_its_owner(void)
{
	struct watcher w = { .pauses = true };

	begin();
	say_hello(2);
	attach(&w);
	until(&asked.attaches, 1);
	say_frame(FRAME_OUTPUT, 0, asked.stream, "a");
	until(&w.bytes, 1);
	say_frame(FRAME_OUTPUT, 0, asked.stream, "b");
	say_frame(FRAME_OUTPUT, FRAME_FLAG_STDERR, asked.stream, "c");
	say_exit(asked.stream, &(struct exit_message){ 0 });
	pass_time();
	T_INT(w.bytes, 1);
	T_INT(w.ends, 0);
	w.pauses = false;
	job_resume(w.job);
	until(&w.ends, 1);
	T_STR(w.out[JOB_STDOUT], "ab");
	T_STR(w.out[JOB_STDERR], "c");
	job_free(w.job);
	end();
}

static void a_freed_job_leaves_the_command_alone(void)
{
	struct watcher w = { 0 };

	begin();
	say_hello(2);
	attach(&w);
	until(&asked.attaches, 1);
	job_free(w.job);
	until(&asked.detaches, 1);
	T_INT(asked.signals, 0);
	T_INT(w.ends, 0);
	end();
}

static void attaching_is_refused(void)
{
	struct watcher w = { 0 }, old = { 0 };

	begin();
	say_hello(2);
	attach(&w);
	until(&asked.attaches, 1);
	say_error(asked.stream, ERR_BUSY);
	until(&w.ends, 1);
	T_INT(w.code, ERR_BUSY);
	job_free(w.job);
	end();
	begin();
	attach(&old);
	say_hello(1);
	until(&old.ends, 1);
	T_INT(old.code, ERR_UNSUPPORTED);
	T_INT(asked.attaches, 0);
	job_free(old.job);
	end();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	T_RUN(a_list);
	T_RUN(each_other_question_gets_one_answer);
	T_RUN(a_command_is_started_or_not);
	T_RUN(a_freed_look_gets_no_answer);
	T_RUN(a_lost_line_answers_all_questions);
	T_RUN(nonsense_ends_the_line);
	T_RUN(an_older_pid_1_gets_no_questions);
	T_RUN(an_attached_job_gets_output_and_end);
	T_RUN(output_of_both_kinds_waits_for_its_owner);
	T_RUN(a_freed_job_leaves_the_command_alone);
	T_RUN(attaching_is_refused);
	return t_end();
}
