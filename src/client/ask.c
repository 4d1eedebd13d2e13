#include "client/ask.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "client/call.h"

#define QUESTION_BYTES (FRAME_DATA_MAX_BYTES + 256) /* the largest frame except EXEC */
/* the first protocol with background commands */
#define PROTOCOL 2u

struct ask {
	struct line *line; /* NULL if the question is over: answered, failed or freed */
	struct ask_owner owner;
	struct call call;
	bool lists;
	/* if the question is a LOOK that waits: the number of the command; otherwise 0 */
	uint64_t waits_for;
	unsigned depth; /* how many callbacks are running */
	bool freed;
};

static void enter(struct ask *a)
{
	a->depth++;
}

static void leave(struct ask *a)
{
	if (--a->depth == 0 && a->freed)
		free(a);
}

static void release(struct ask *a)
{
	if (a->line)
		line_close(a->line, a->call.stream);
	a->line = NULL;
}

static void finish(struct ask *a, const struct err *why)
{
	struct answer answer = { .err = why, .id = a->call.id, .end = a->call.end };

	if (!a->line)
		return;
	release(a);
	a->owner.done(a->owner.arg, &answer);
}

static void take_command(struct ask *a)
{
	if (a->owner.command)
		a->owner.command(a->owner.arg, &a->call.command);
	if (!a->lists)
		finish(a, NULL);
}

static void take_frame(struct ask *a, const struct frame *f)
{
	struct err e = { 0 };

	switch (call_take(&a->call, f, &e)) {
	case CALL_COMMAND:
		take_command(a);
		break;
	case CALL_STARTED:
	case CALL_ENDED: /* comes instead of CALL_STARTED if the command could not start */
	case CALL_TOLD:
		finish(a, NULL);
		break;
	case -1:
		/* if pid 1 breaks the rules for one stream, we do not trust it for the other
		 * streams either */
		if (f->type != FRAME_ERROR || e.code == ERR_PROTOCOL)
			line_hang_up(a->line, &e);
		finish(a, &e);
		break;
	default:
		break;
	}
}

static void on_frame(void *arg, const struct frame *f)
{
	struct ask *a = arg;

	enter(a);
	if (a->line)
		take_frame(a, f);
	leave(a);
}

static void on_gone(void *arg, const struct err *why)
{
	struct ask *a = arg;

	enter(a);
	finish(a, why);
	leave(a);
}

static int ask_new(struct line *n, const struct ask_owner *o, struct ask **ret, struct err *e)
{
	struct ask *a = xcalloc(1, sizeof(*a));
	struct line_user u = { .frame = on_frame, .gone = on_gone, .arg = a };
	uint32_t stream;

	if (line_open(n, &u, &stream, e) < 0) {
		free(a);
		return -1;
	}
	a->line = n;
	a->owner = *o;
	call_init(&a->call, line_name(n), stream);
	*ret = a;
	return 0;
}

static int ask_send(struct ask *a, struct buf *b, struct ask **ret, struct err *e)
{
	if (line_ask(a->line, PROTOCOL, b, e) < 0) {
		release(a);
		free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

int ask_start(struct line *n, const struct exec_message *message, const struct ask_owner *o,
	      struct ask **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	struct exec_message m = *message;
	struct ask *a;

	if (ask_new(n, o, &a, e) < 0)
		return -1;
	m.flags |= EXEC_BACKGROUND;
	call_exec(&a->call, &m, 0, &b);
	return ask_send(a, &b, ret, e);
}

int ask_list(struct line *n, const struct ask_owner *o, struct ask **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct ask *a;

	if (ask_new(n, o, &a, e) < 0)
		return -1;
	a->lists = true;
	call_list(&a->call, &b);
	return ask_send(a, &b, ret, e);
}

int ask_look(struct line *n, const struct look_message *m, const struct ask_owner *o,
	     struct ask **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct ask *a;

	if (ask_new(n, o, &a, e) < 0)
		return -1;
	if (m->flags & (LOOK_UNTIL_OUTPUT | LOOK_UNTIL_END | LOOK_UNTIL_ROOM))
		a->waits_for = m->id;
	call_look(&a->call, m, &b);
	return ask_send(a, &b, ret, e);
}

int ask_feed(struct line *n, const struct feed_message *m, const struct ask_owner *o,
	     struct ask **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct ask *a;

	if (ask_new(n, o, &a, e) < 0)
		return -1;
	call_feed(&a->call, m, &b);
	return ask_send(a, &b, ret, e);
}

int ask_signal(struct line *n, uint64_t id, int sig, bool scope, const struct ask_owner *o,
	       struct ask **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct ask *a;

	/* to pid 1 the number 0 means the command of this stream. The stream of a question has no
	 * command, so pid 1 would not answer */
	if (id == 0)
		return err_set(e, ERR_NOT_FOUND, "session not found: 0");
	if (ask_new(n, o, &a, e) < 0)
		return -1;
	call_signal_to(&a->call, id, sig, scope ? FRAME_FLAG_SCOPE : 0, &b);
	return ask_send(a, &b, ret, e);
}

/* Sends a LOOK that does not wait. pid 1 then drops our older LOOK, which still waits. */
static void stop_waiting(struct ask *a)
{
	AUTO_BUF b = BUF_INIT(QUESTION_BYTES);
	struct err ignored;

	call_look(&a->call, &(struct look_message){ .id = a->waits_for }, &b);
	IGNORE(line_send(a->line, LINE_FOLLOW_UP, &b, NULL, 0, &ignored));
}

void ask_free(struct ask *a)
{
	if (!a || a->freed)
		return;
	if (a->line && a->waits_for)
		stop_waiting(a);
	release(a);
	a->freed = true;
	enter(a);
	leave(a);
}
