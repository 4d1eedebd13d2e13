#include "client/commands.h"

#include <errno.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/call.h"
#include "client/control.h"

#define QUESTION_BYTES 512
/* the first protocol with background commands */
#define PROTOCOL 2u

struct question {
	struct client *c;
	struct call call;
	bool lists;
	bool answered;
	commands_fn *fn;
	void *arg;
	struct err *e;
};

static int check_version(const struct question *q, struct str body)
{
	struct hello h;

	if (hello_decode(body, &h) == 0 && hello_agree(&h) >= PROTOCOL)
		return 0;
	err_set(q->e, ERR_UNSUPPORTED,
		"sandbox '%s' was started by an older cordon, which has no list of commands",
		q->c->name);
	return err_hint(q->e, "'attach' works; a restart ends the commands, and then all works");
}

static int take_frame(void *arg, const struct frame *f)
{
	struct question *q = arg;

	if (f->type == FRAME_HELLO)
		return check_version(q, f->body) < 0;
	switch (call_take(&q->call, f, q->e)) {
	case CALL_COMMAND:
		q->fn(q->arg, &q->call.command);
		q->answered |= !q->lists;
		return 0;
	case CALL_TOLD:
		q->answered |= q->lists;
		return 0;
	case -1:
		return 1;
	default:
		return 0;
	}
}

/* Sends the question in B and waits for the answer. Returns 1 if the answer came, 0 if it did not
 * come by the time UNTIL_NS, or -1. */
static int ask(struct question *q, const struct buf *b, uint64_t until_ns)
{
	if (client_request(q->c, b, NULL, 0, q->e) < 0)
		return -1;
	while (!q->answered) {
		struct pollfd p = { .fd = q->c->fd, .events = POLLIN };
		int n = poll(&p, 1, clock_poll_ms(until_ns));

		if (n < 0 && errno != EINTR)
			return err_sys(q->e, errno, "wait for an answer");
		if (n > 0 && client_receive(q->c, take_frame, q, q->e))
			return -1;
		/* look at the clock in each turn: a pid 1 that sends frames without end must not
		 * make us wait for ever */
		if (!q->answered && clock_mono_ns() >= until_ns)
			return 0;
	}
	return 1;
}

/* Asks a question that pid 1 answers at once. */
static int ask_now(struct question *q, const struct buf *b)
{
	int r = ask(q, b, clock_mono_ns() + CONTROL_ANSWER_MS * NS_PER_MS);

	if (r == 0)
		return err_set(q->e, ERR_TIMEOUT, "sandbox '%s' does not answer", q->c->name);
	return r < 0 ? -1 : 0;
}

static void question_init(struct question *q, struct client *c, commands_fn *fn, void *arg,
			  struct buf *b, struct err *e)
{
	*q = (struct question){ .c = c, .fn = fn, .arg = arg, .e = e };
	/* each question gets its own stream, because an answer to an older question may still
	 * come */
	call_init(&q->call, c->name, CLIENT_STREAM + ++c->questions);
	client_greet(c, b);
	/* A pid 1 of protocol 1 ignores the question, and sends its HELLO only together with its
	 * first answer. The PING gets this answer, so that we learn the version at once. Its PONG
	 * belongs to no question. */
	if (c->questions == 1)
		frame_put(b, FRAME_PING, 0, 0, NULL, 0);
}

int commands_list(struct client *c, commands_fn *fn, void *arg, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct question q;

	question_init(&q, c, fn, arg, &b, e);
	q.lists = true;
	call_list(&q.call, &b);
	return ask_now(&q, &b);
}

static void ignore(void *arg, const struct command_message *m)
{
}

int commands_signal(struct client *c, uint64_t id, int sig, unsigned flags, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct question q;

	question_init(&q, c, ignore, NULL, &b, e);
	call_signal_to(&q.call, id, sig, flags, &b);
	return ask_now(&q, &b);
}

static void keep_end(void *arg, const struct command_message *m)
{
	struct exit_message *end = arg;

	*end = m->end;
}

int commands_await_end(struct client *c, uint64_t id, uint64_t until_ns, struct exit_message *ret,
		       bool *ret_known, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct question q;
	int r;

	question_init(&q, c, keep_end, ret, &b, e);
	call_look(&q.call, &(struct look_message){ .id = id, .flags = LOOK_UNTIL_END }, &b);
	r = ask(&q, &b, until_ns);
	*ret_known = r > 0;
	/* the command has also ended if pid 1 does not know it any more, or if the connection is
	 * lost because the sandbox ended with its last command */
	return r < 0 && (e->code == ERR_NOT_FOUND || e->code == ERR_SYSTEM) ? 1 : r;
}

struct oldest {
	uint64_t id;
	uint64_t ended_ms;
};

static void compare_end(void *arg, const struct command_message *m)
{
	struct oldest *o = arg;

	if (m->flags & COMMAND_ENDED && (!o->id || m->ended_ms > o->ended_ms))
		*o = (struct oldest){ m->id, m->ended_ms };
}

bool commands_forget_oldest(struct client *c)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct oldest o = { 0 };
	struct question q;
	struct err ignored;

	if (commands_list(c, compare_end, &o, &ignored) < 0 || !o.id)
		return false;
	question_init(&q, c, ignore, NULL, &b, &ignored);
	call_look(&q.call, &(struct look_message){ .id = o.id, .flags = LOOK_TAKE }, &b);
	return ask_now(&q, &b) == 0;
}
