#include "client/transfer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"

#define FRAME_ROOM_BYTES (FRAME_DATA_MAX_BYTES + FILE_TARGET_MAX_BYTES + 256)

static int take_output(struct transfer *t, struct str body, struct err *e)
{
	AUTO_BUF grant = BUF_INIT(64);

	if (t->on_data(t->arg, body.p, body.n, e) < 0)
		return -1;
	if (call_took(&t->call, body.n, &grant))
		client_send(t->client, &grant);
	return 0;
}

struct taking {
	struct transfer *t;
	struct err *e;
};

static int take_frame(void *arg, const struct frame *f)
{
	struct taking *taking = arg;
	int news = call_take(&taking->t->call, f, taking->e);

	if (news == CALL_OUTPUT)
		news = take_output(taking->t, f->body, taking->e);
	return news < 0 ? 1 : 0;
}

/* Handles what the agent has sent. Waits if nothing has come. */
static int take_frames(struct transfer *t, struct err *e)
{
	struct pollfd p = { .fd = t->client->fd, .events = POLLIN };
	struct taking taking = { t, e };

	if (poll(&p, 1, -1) < 0)
		return errno == EINTR ? 0
				      : err_sys(e, errno, "wait for sandbox '%s'", t->client->name);
	return client_receive(t->client, take_frame, &taking, e) ? -1 : 0;
}

int transfer_open(struct transfer *t, struct client *c, const struct file_message *m,
		  int (*on_data)(void *arg, const char *p, size_t n, struct err *e), void *arg,
		  struct err *e)
{
	AUTO_BUF b = BUF_INIT(FRAME_ROOM_BYTES);

	*t = (struct transfer){ .client = c, .on_data = on_data, .arg = arg };
	call_init(&t->call, c->name, CLIENT_STREAM);
	client_greet(c, &b);
	call_file(&t->call, m, &b);
	if (buf_failed(&b))
		return err_set(e, ERR_LIMIT, "the path is too long");
	return client_request(c, &b, NULL, 0, e);
}

int transfer_write(struct transfer *t, const void *p, size_t n, struct err *e)
{
	const char *at = p;

	while (n > 0) {
		AUTO_BUF b = BUF_INIT(FRAME_ROOM_BYTES);
		size_t k = call_input(&t->call, at, n, &b);

		if (k == 0) {
			if (take_frames(t, e) < 0)
				return -1;
			if (t->call.ended)
				return err_set(e, ERR_NOT_RUNNING,
					       "sandbox '%s' stopped taking files",
					       t->client->name);
			continue;
		}
		if (client_request(t->client, &b, NULL, 0, e) < 0)
			return -1;
		at += k;
		n -= k;
	}
	return 0;
}

int transfer_finish(struct transfer *t, struct err *e)
{
	const struct exit_message *end = &t->call.end;

	while (!t->call.ended)
		if (take_frames(t, e) < 0)
			return -1;
	if (end->failure)
		return err_set(e, ERR_SYSTEM, "sandbox '%s' could not start copying: %s (%s)",
			       t->client->name, exec_failure_text(end->failure),
			       strerror(end->sys));
	if (end->signal || end->code)
		return err_set(e, ERR_SYSTEM,
			       "copying in sandbox '%s' was ended from inside (status %u)",
			       t->client->name, end->signal ? 128 + end->signal : end->code);
	return 0;
}
