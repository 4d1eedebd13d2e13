#include "endpoint/link.h"

#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "endpoint/tls.h"

/* The bytes of one read. A TLS record is shorter, so one read takes all decrypted bytes out of
 * OpenSSL. Bytes that stayed there would not make the socket readable, and poll() would not tell us
 * of them. */
#define READ_BYTES (64u << 10)
/* limit for bytes that wait to be written: enough for a message of 16 MiB in which every byte is
 * escaped */
#define PENDING_MAX_BYTES (128u << 20)
/* limit for received bytes that are not decoded yet; a message may be longer, because the decoder
 * collects a message in a buffer of its own */
#define RECEIVED_MAX_BYTES (1u << 20)

void link_init(struct link *l, int in, int out, bool websocket, struct interrupt *i)
{
	*l = (struct link){ .in = in, .out = out, .websocket = websocket, .interrupt = i };
	buf_init(&l->received, RECEIVED_MAX_BYTES);
	buf_init(&l->pending, PENDING_MAX_BYTES);
	websocket_init(&l->frames, WEBSOCKET_CLIENT, WEBSOCKET_MESSAGE_MAX_BYTES);
	stdio_reader_init(&l->lines);
}

void link_done(struct link *l)
{
	link_finish(l);
	tls_free(l->tls);
	fd_closep(&l->in);
	buf_done(&l->received);
	buf_done(&l->pending);
	websocket_done(&l->frames);
	stdio_reader_done(&l->lines);
}

void link_finish(struct link *l)
{
	if (l->out != l->in)
		fd_closep(&l->out);
	l->out = -1;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static int lose(struct link *l, struct fault *f)
{
	l->ended = true;
	fault_set(f, FAULT_BOX, "Disconnected from Box runtime");
	return l->useless ? -1 : fault_set_again(f);
}

static bool has_pending(const struct link *l)
{
	return l->written < l->pending.n;
}

/* Writes like write(), but returns -errno. */
static ssize_t write_bytes(struct link *l, const char *p, size_t n)
{
	ssize_t r;

	if (l->tls) {
		l->handed = l->taken + n; /* TLS may send all N, even if this call fails */
		return tls_write(l->tls, p, n);
	}
	r = write(l->out, p, n);
	return r < 0 ? -errno : r;
}

/* Reads like read(), but returns -errno. */
static ssize_t read_bytes(struct link *l, char *p, size_t n)
{
	ssize_t r;

	if (l->tls)
		return tls_read(l->tls, p, n);
	r = read(l->in, p, n);
	return r < 0 ? -errno : r;
}

static int write_some(struct link *l, struct fault *f)
{
	ssize_t n = write_bytes(l, l->pending.p + l->written, l->pending.n - l->written);

	if (n < 0 && n != -EAGAIN && n != -EINTR)
		return lose(l, f);
	if (n > 0) {
		l->written += (size_t)n;
		l->taken += (size_t)n;
	}
	if (l->handed < l->taken)
		l->handed = l->taken;
	if (!has_pending(l)) {
		buf_clear(&l->pending);
		l->written = 0;
	}
	return 0;
}

static int read_some(struct link *l, struct fault *f)
{
	char *room;
	ssize_t n;

	buf_drop(&l->received, l->decoded);
	l->decoded = 0;
	room = buf_room(&l->received, READ_BYTES);
	if (!room)
		return fault_set(f, FAULT_BOX, "no memory for the answer of the Box runtime");
	n = read_bytes(l, room, READ_BYTES);
	if (n > 0)
		l->received.n += (size_t)n;
	else if (n != -EAGAIN && n != -EINTR)
		l->ended = true;
	return 0;
}

static void put_ping(struct link *l, uint64_t now)
{
	unsigned char mask[WEBSOCKET_MASK_BYTES] = { 0 };

	if (getrandom(mask, sizeof(mask), 0) != (ssize_t)sizeof(mask))
		return;
	websocket_put(&l->pending, WEBSOCKET_PING, mask, "", 0);
	l->next_ping_ns = now + l->ping_ns;
	l->pong_by_ns = now + l->ping_ns;
}

/* Sends a ping if it is time for one. If the next ping or the time limit for a pong comes before
 * *UNTIL, lowers *UNTIL to that time. Returns true if the time limit has passed. */
static bool keep_alive(struct link *l, uint64_t *until)
{
	uint64_t now = clock_mono_ns(), next;

	if (!l->ping_ns)
		return false;
	if (!l->pong_by_ns && now >= l->next_ping_ns)
		put_ping(l, now);
	next = l->pong_by_ns ? l->pong_by_ns : l->next_ping_ns;
	if (next < *until)
		*until = next;
	return l->pong_by_ns && now >= l->pong_by_ns;
}

/* Handles a pong that is late. If this process was stopped for a while, the pong may have come in
 * time, but nobody has read it. So turn() reads once more after the time limit, and then calls this
 * function. READ says that this read gave bytes. The pong may be in them, so the decoder gets time
 * to find it. */
static int miss_pong(struct link *l, bool read, struct fault *f)
{
	if (read) {
		l->pong_by_ns = clock_mono_ns() + l->ping_ns;
		return 0;
	}
	fault_set(f, FAULT_BOX, "the Box runtime has stopped to answer pings");
	return fault_set_again(f);
}

/* Waits for the descriptors once, then reads and writes what is possible. */
static int turn(struct link *l, uint64_t deadline_ns, struct fault *f)
{
	struct pollfd p[3] = { { .fd = l->interrupt->fd, .events = POLLIN } };
	uint64_t until = deadline_ns;
	size_t had;
	bool late;

	if (clock_mono_ns() >= deadline_ns)
		return fault_set(f, FAULT_BOX, "the Box runtime did not answer in time");
	late = keep_alive(l, &until);
	p[1] = (struct pollfd){ .fd = l->in, .events = l->tls ? tls_events(l->tls) : POLLIN };
	p[2] = (struct pollfd){ .fd = has_pending(l) ? l->out : -1, .events = POLLOUT };
	if (poll(p, ARRAY_SIZE(p), clock_poll_ms(until)) < 0)
		return errno == EINTR ? 0 : fault_set(f, FAULT_BOX, "poll: %s", strerror(errno));
	if (p[0].revents) {
		l->signal = interrupt_signal(l->interrupt);
		return fault_set(f, FAULT_BOX, "the call was interrupted by a signal");
	}
	had = l->received.n - l->decoded;
	if (p[1].revents && read_some(l, f) < 0)
		return -1;
	if (late && !l->ended && miss_pong(l, l->received.n - l->decoded > had, f) < 0)
		return -1;
	/* a server that has closed its side reads nothing */
	return p[2].revents && !l->ended ? write_some(l, f) : 0;
}

uint64_t link_end(const struct link *l)
{
	return l->taken + (l->pending.n - l->written);
}

int link_write(struct link *l, struct str bytes, uint64_t deadline_ns, struct fault *f)
{
	buf_add(&l->pending, bytes.p, bytes.n);
	if (buf_failed(&l->pending))
		return fault_set(f, FAULT_BOX, "the request is too long");
	while (has_pending(l)) {
		/* give up if the server has closed its side, or if it sends so much that our buffer
		 * is full and still does not read our request */
		if (l->ended || l->received.n - l->decoded > RECEIVED_MAX_BYTES - READ_BYTES)
			return lose(l, f);
		if (turn(l, deadline_ns, f) < 0)
			return -1;
	}
	return 0;
}

int link_read_more(struct link *l, uint64_t deadline_ns, struct fault *f)
{
	size_t had = l->received.n - l->decoded;

	while (l->received.n - l->decoded == had) {
		if (l->ended)
			return lose(l, f);
		if (turn(l, deadline_ns, f) < 0)
			return -1;
	}
	return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

int link_send(struct link *l, struct str message, uint64_t deadline_ns, struct fault *f)
{
	unsigned char mask[WEBSOCKET_MASK_BYTES];
	AUTO_BUF bytes = BUF_INIT(PENDING_MAX_BYTES);

	if (message.n > WEBSOCKET_MESSAGE_MAX_BYTES)
		return fault_set(f, FAULT_VALIDATION, "the request is longer than 16 MiB");
	if (!l->websocket)
		stdio_put(&bytes, message);
	else if (getrandom(mask, sizeof(mask), 0) == (ssize_t)sizeof(mask))
		websocket_put(&bytes, WEBSOCKET_TEXT, mask, message.p, message.n);
	if (buf_failed(&bytes) || bytes.n == 0)
		return fault_set(f, FAULT_BOX, "the request cannot be written");
	return link_write(l, (struct str){ bytes.p, bytes.n }, deadline_ns, f);
}

static void put_pong(struct link *l, struct str payload)
{
	unsigned char mask[WEBSOCKET_MASK_BYTES];

	/* if many bytes still wait to be written, the server does not read; then drop the pong */
	if (l->pending.n - l->written > RECEIVED_MAX_BYTES ||
	    getrandom(mask, sizeof(mask), 0) != (ssize_t)sizeof(mask))
		return;
	websocket_put(&l->pending, WEBSOCKET_PONG, mask, payload.p, payload.n);
}

/* Returns true if CODE is one with which a server closes the connection when it restarts. The other
 * codes say that we did something wrong. */
static bool ends_for_now(int code)
{
	return code == 1000 || code == 1001 || code == 1005 || (code >= 1012 && code <= 1014);
}

/* Returns 1 for a message, 0 for a ping or a pong, and -1 for any other event. */
static int take_event(struct link *l, const struct websocket_event *ev, struct str *ret,
		      struct fault *f)
{
	switch (ev->type) {
	case WEBSOCKET_TEXT:
		*ret = ev->payload;
		return 1;
	case WEBSOCKET_PING:
		put_pong(l, ev->payload);
		return 0;
	case WEBSOCKET_PONG:
		l->pong_by_ns = 0;
		return 0;
	case WEBSOCKET_CLOSE:
		fault_set(f, FAULT_BOX,
			  "Disconnected from Box runtime: it closed the connection with %d",
			  (int)ev->code);
		l->useless = !ends_for_now((int)ev->code);
		return l->useless ? -1 : fault_set_again(f);
	default:
		l->useless = true;
		return fault_set(f, FAULT_BOX, "the Box runtime sent a binary message");
	}
}

/* Decodes what has been received. Returns 1 for a message, 0 if more bytes are needed, or -1. */
static int decode(struct link *l, struct str *ret, struct fault *f)
{
	struct str in = { buf_str(&l->received) + l->decoded, l->received.n - l->decoded };
	struct websocket_event ev;
	int r = 0;

	while (r == 0 && in.n) {
		int got = l->websocket ? websocket_next(&l->frames, &in, &ev)
				       : stdio_next(&l->lines, &in, ret);

		l->decoded = l->received.n - in.n;
		if (got < 0) {
			l->useless = true;
			return fault_set(f, FAULT_BOX,
					 "the Box runtime breaks the rules of the protocol");
		}
		r = got == 0 ? 0 : l->websocket ? take_event(l, &ev, ret, f) : 1;
	}
	return r;
}

int link_receive(struct link *l, uint64_t deadline_ns, struct str *ret, struct fault *f)
{
	int r;

	while ((r = decode(l, ret, f)) == 0)
		if (link_read_more(l, deadline_ns, f) < 0)
			return -1;
	return r < 0 ? -1 : 0;
}

int link_check(struct link *l, struct fault *f)
{
	struct pollfd p = { .fd = l->in, .events = POLLIN };
	struct str ignored;
	int r;

	if (poll(&p, 1, 0) > 0 && read_some(l, f) < 0)
		return -1;
	do
		r = decode(l, &ignored, f);
	while (r > 0);
	if (r == 0 && l->ended)
		r = lose(l, f);
	return r;
}
