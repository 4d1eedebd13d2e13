#include "client/transfer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fdpass.h"

#define STREAM 1u
#define READ_CHUNK_BYTES 65536

static int lost(const struct transfer *t, struct err *e)
{
	return err_set(e, ERR_SYSTEM, "connection to sandbox '%s' was lost", t->client->name);
}

static int send_frame(struct transfer *t, enum frame_type type, const void *p, size_t n,
		      struct err *e)
{
	AUTO_BUF b = BUF_INIT(FRAME_DATA_MAX_BYTES + FILE_TARGET_MAX_BYTES + 256);

	if (!t->client->greeted)
		hello_encode(&b);
	t->client->greeted = true;
	frame_put(&b, type, 0, STREAM, p, n);
	if (buf_failed(&b))
		return err_set(e, ERR_LIMIT, "the path is too long");
	return fdpass_send(t->client->fd, b.p, b.n, NULL, 0) < 0 ? lost(t, e) : 0;
}

static int on_output(struct transfer *t, struct str body, struct err *e)
{
	AUTO_BUF grant = BUF_INIT(64);

	if (body.n > FRAME_DATA_MAX_BYTES)
		return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent an oversized frame",
			       t->client->name);
	if (t->on_data(t->arg, body.p, body.n, e) < 0)
		return -1;
	t->consumed += (uint32_t)body.n;
	if (t->consumed < FRAME_CREDIT_BYTES / 4)
		return 0;
	number_encode(&grant, t->consumed);
	t->consumed = 0;
	return send_frame(t, FRAME_CREDIT, grant.p, grant.n, e);
}

static int on_frame(struct transfer *t, const struct frame *f, struct err *e)
{
	const char *text;
	unsigned code;
	uint64_t n;

	if (f->stream != STREAM && f->stream != 0)
		return 0;
	switch (f->type) {
	case FRAME_ERROR:
		if (error_decode(f->body, &code, &text) < 0)
			break;
		return err_set(e, (enum err_code)code, "%s", text);
	case FRAME_EXIT:
		if (exit_decode(f->body, &t->end) < 0)
			break;
		t->ended = true;
		return 0;
	case FRAME_OUTPUT:
		return on_output(t, f->body, e);
	case FRAME_CREDIT:
		if (number_decode(f->body, &n) == 0 && n <= FRAME_CREDIT_BYTES - t->credit)
			t->credit += (uint32_t)n;
		return 0;
	default:
		return 0;
	}
	return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent a bad answer", t->client->name);
}

/* Takes what is there, or waits for it. */
static int take_frames(struct transfer *t, struct err *e)
{
	struct buf *in = &t->client->in;
	struct pollfd p = { .fd = t->client->fd, .events = POLLIN };
	struct str rest;
	struct frame f;
	char *room;
	ssize_t n;
	int r;

	if (poll(&p, 1, -1) < 0)
		return errno == EINTR ? 0
				      : err_sys(e, errno, "wait for sandbox '%s'", t->client->name);
	room = buf_room(in, READ_CHUNK_BYTES);
	if (!room)
		return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent too much", t->client->name);
	n = recv(t->client->fd, room, READ_CHUNK_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return lost(t, e);
	in->n += (size_t)n;
	rest = (struct str){ in->p, in->n };
	while ((r = frame_next(&rest, &f)) > 0)
		if (on_frame(t, &f, e) < 0)
			return -1;
	if (r < 0)
		return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent garbage", t->client->name);
	buf_drop(in, in->n - rest.n);
	return 0;
}

int transfer_open(struct transfer *t, struct client *c, const struct file_message *m,
		  int (*on_data)(void *arg, const char *p, size_t n, struct err *e), void *arg,
		  struct err *e)
{
	AUTO_BUF body = BUF_INIT(FRAME_DATA_MAX_BYTES);

	*t = (struct transfer){
		.client = c, .on_data = on_data, .arg = arg, .credit = FRAME_CREDIT_BYTES
	};
	file_encode(&body, m);
	if (buf_failed(&body))
		return err_set(e, ERR_LIMIT, "the path is too long");
	return send_frame(t, FRAME_FILE, body.p, body.n, e);
}

int transfer_write(struct transfer *t, const void *p, size_t n, struct err *e)
{
	const char *at = p;

	while (n > 0) {
		size_t k = n < FRAME_DATA_MAX_BYTES ? n : FRAME_DATA_MAX_BYTES;

		if (k > t->credit)
			k = t->credit;
		if (k == 0) {
			if (take_frames(t, e) < 0)
				return -1;
			if (t->ended)
				return err_set(e, ERR_NOT_RUNNING,
					       "sandbox '%s' stopped taking files",
					       t->client->name);
			continue;
		}
		if (send_frame(t, FRAME_STDIN, at, k, e) < 0)
			return -1;
		t->credit -= (uint32_t)k;
		at += k;
		n -= k;
	}
	return 0;
}

int transfer_finish(struct transfer *t, struct err *e)
{
	while (!t->ended)
		if (take_frames(t, e) < 0)
			return -1;
	if (t->end.failure)
		return err_set(e, ERR_SYSTEM, "sandbox '%s' could not start copying: %s (%s)",
			       t->client->name, exec_failure_text(t->end.failure),
			       strerror(t->end.sys));
	if (t->end.signal || t->end.code)
		return err_set(e, ERR_SYSTEM,
			       "copying in sandbox '%s' was ended from inside (status %u)",
			       t->client->name, t->end.signal ? 128 + t->end.signal : t->end.code);
	return 0;
}
