#include "client/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"

struct outbox_message {
	struct outbox_message *next;
	struct buf b;
	size_t sent;
	int fd[FRAME_FDS_MAX];
	unsigned n_fds;
	bool pings;     /* the message ends with a PING; later descriptors wait for its PONG */
	uint32_t needs; /* the protocol version that pid 1 must speak, or 0 */
};

void outbox_init(struct outbox *o)
{
	*o = (struct outbox){ 0 };
	o->last = &o->first;
}

/* Removes the message *AT from the queue and frees the message. */
static void drop(struct outbox *o, struct outbox_message **at)
{
	struct outbox_message *m = *at;

	*at = m->next;
	if (!*at)
		o->last = at;
	o->n_messages--;
	o->n_bytes -= m->b.n;
	while (m->n_fds > 0)
		close(m->fd[--m->n_fds]);
	buf_done(&m->b);
	free(m);
}

void outbox_clear(struct outbox *o)
{
	while (o->first)
		drop(o, &o->first);
}

static bool is_bare_exec(const struct buf *b, unsigned n_fds)
{
	struct str in = { b->p, b->n };
	struct frame f;

	return n_fds == 0 && frame_next(&in, &f) > 0 && f.type == FRAME_EXEC;
}

void outbox_add(struct outbox *o, struct buf *b, const int *fds, unsigned n_fds, uint32_t needs)
{
	struct outbox_message *m = xcalloc(1, sizeof(*m));

	m->b = *b;
	buf_init(b, b->max);
	m->needs = needs;
	m->pings = is_bare_exec(&m->b, n_fds);
	if (m->pings) {
		m->b.max += FRAME_HEADER_BYTES; /* room for the PING */
		frame_put(&m->b, FRAME_PING, 0, 0, NULL, 0);
		if (buf_failed(&m->b))
			out_of_memory();
	}
	m->n_fds = n_fds;
	for (unsigned i = 0; i < n_fds; i++)
		m->fd[i] = fds[i];
	*o->last = m;
	o->last = &m->next;
	o->n_messages++;
	o->n_bytes += m->b.n;
}

static bool is_held(const struct outbox *o, const struct outbox_message *m)
{
	return (m->n_fds > 0 && o->pings > 0) || (m->needs && !o->version);
}

/* Sends a part of a message. Returns how many bytes were sent, or -errno. */
static ssize_t send_some(const struct outbox_message *m, int sock)
{
	bool last = m->sent + 1 == m->b.n;
	size_t some = m->b.n - m->sent - (m->n_fds > 0 && !last);

	return fdpass_try(sock, m->b.p + m->sent, some, m->fd, last ? m->n_fds : 0);
}

enum outbox_result outbox_flush(struct outbox *o, int sock)
{
	struct outbox_message *m;

	while ((m = o->first)) {
		ssize_t k;

		if (is_held(o, m))
			return OUTBOX_HELD;
		k = send_some(m, sock);
		if (k == -EAGAIN)
			return OUTBOX_FULL;
		if (k == -ETOOMANYREFS || k == -ENOBUFS || k == -ENOMEM)
			return OUTBOX_CROWDED;
		if (k < 0)
			return OUTBOX_LOST;
		m->sent += (size_t)k;
		if (m->sent < m->b.n)
			continue;
		o->pings += m->pings;
		drop(o, &o->first);
	}
	return OUTBOX_EMPTY;
}

void outbox_take_pong(struct outbox *o)
{
	if (o->pings > 0)
		o->pings--;
}

void outbox_take_version(struct outbox *o, uint32_t version)
{
	o->version = version;
}

bool outbox_drop_misfit(struct outbox *o, uint32_t *ret_stream)
{
	struct outbox_message **at = &o->first;
	struct frame f = { 0 };
	struct str in;

	while (*at && (*at)->needs <= o->version)
		at = &(*at)->next;
	if (!*at)
		return false;
	in = (struct str){ (*at)->b.p, (*at)->b.n };
	/* we wrote the frame ourselves, so it is complete and valid */
	IGNORE(frame_next(&in, &f));
	drop(o, at);
	*ret_stream = f.stream;
	return true;
}
