/*
 * A hand is idle, or works on one request. A request is in the queue, or a hand works on it. A
 * request is over when its hand has answered, has sent garbage or has ended, or when its deadline
 * has passed. But if the hand ended before it got the whole request, the request goes back into the
 * queue. If the owner drops a queued request, the request is freed. If a hand already works on the
 * request, the hand goes on, but the owner's callback is not called.
 *
 * An owner's callback may call hands_free(). So enter() and leave() count the running callbacks of
 * the loop, and the last leave() frees the memory of the pool.
 */
#include "client/hands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/json.h"
#include "spec/spec.h"

#define READ_BYTES 16384
/* the most bytes of an answer: the largest answer has 64 KiB of warnings and an error */
#define ANSWER_MAX_BYTES (256u << 10)

struct hand {
	struct hands *pool;
	int sock; /* -1 if the slot is empty */
	int pidfd;
	loop_id watch;
	struct buf in;
	int fd[HAND_FDS]; /* the descriptors that came with the answer */
	unsigned n_fds;
	struct hands_request *request; /* NULL if the hand is idle */
};

struct hands_request {
	struct hands_request *next; /* the next request in the queue */
	struct hands *pool;
	struct hand *hand; /* NULL if the request is queued */
	struct buf frame;
	size_t sent;
	bool wants_sandbox; /* a successful answer must come with descriptors */
	bool slow;          /* the request may take minutes, see hands_ask_slow() */
	loop_id timer;
	hands_answer_fn *fn; /* NULL if the request was dropped */
	void *arg;
};

struct hands {
	struct loop *loop; /* borrowed */
	int channel;
	loop_id watch;
	hands_gone_fn *gone;
	void *arg;
	struct hand hand[HANDS_MAX];
	struct hands_request *first, **last;
	unsigned n_queued;
	size_t n_bytes;
	unsigned depth; /* how many callbacks are running */
	bool freed;
};

static void enter(struct hands *h)
{
	h->depth++;
}

static void leave(struct hands *h)
{
	if (--h->depth == 0 && h->freed)
		free(h);
}

/* --- requests -------------------------------------------------------------------------------- */

static void request_free(struct hands_request *r)
{
	loop_remove(r->pool->loop, &r->timer);
	buf_done(&r->frame);
	free(r);
}

/* Puts R into the queue at AT, which is the beginning or the end of the queue. */
static void enqueue(struct hands *h, struct hands_request *r, struct hands_request **at)
{
	r->next = *at;
	*at = r;
	if (!r->next)
		h->last = &r->next;
	h->n_queued++;
	h->n_bytes += r->frame.n;
}

static void unqueue(struct hands *h, struct hands_request *r)
{
	struct hands_request **at = &h->first;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (!r->next)
		h->last = at;
	r->next = NULL;
	h->n_queued--;
	h->n_bytes -= r->frame.n;
}

/* Frees R and passes the answer A to the callback of R's owner. If the owner has dropped R, closes
 * the descriptors of A instead. R must not be in the queue, and no hand may be working on it. */
static void answer(struct hands_request *r, const struct hands_answer *a)
{
	hands_answer_fn *fn = r->fn;
	void *arg = r->arg;
	int leash = a->leash, connection = a->connection;

	request_free(r);
	if (fn) {
		fn(arg, a);
		return;
	}
	fd_closep(&leash);
	fd_closep(&connection);
}

static void refuse(struct hands_request *r, const struct err *why)
{
	answer(r, &(struct hands_answer){ .err = why, .leash = -1, .connection = -1 });
}

/* --- hands ----------------------------------------------------------------------------------- */

static void close_fds(struct hand *d)
{
	while (d->n_fds > 0)
		fd_closep(&d->fd[--d->n_fds]);
}

/* Kills the hand. Returns the request that it had, or NULL. */
static struct hands_request *drop_hand(struct hand *d)
{
	struct hands_request *r = d->request;

	IGNORE(sys_pidfd_send_signal(d->pidfd, SIGKILL)); /* the hand may have ended already */
	loop_remove(d->pool->loop, &d->watch);
	fd_closep(&d->sock);
	fd_closep(&d->pidfd);
	close_fds(d);
	buf_done(&d->in);
	d->request = NULL;
	if (r)
		r->hand = NULL;
	return r;
}

static void lose(struct hand *d, const struct err *why)
{
	struct hands_request *r = drop_hand(d);

	if (r)
		refuse(r, why);
}

static void lost(struct hand *d)
{
	struct hands_request *r = d->request;
	struct err e;

	/* the hand did not get the whole request, so another hand can do it */
	if (r && r->sent < r->frame.n) {
		drop_hand(d);
		r->sent = 0;
		enqueue(r->pool, r, &r->pool->first);
		return;
	}
	err_set(&e, ERR_SYSTEM, "a worker process (cordon-hand) ended before it answered");
	lose(d, &e);
}

static void garbage(struct hand *d)
{
	struct err e;

	err_set(&e, ERR_PROTOCOL, "a worker process (cordon-hand) sent garbage");
	lose(d, &e);
}

/* Sends as much of the request as the socket takes. Ignores the error of a hand that has ended,
 * because the loop reports the hang-up of its socket to on_socket(). */
static void send_more(struct hand *d)
{
	struct hands_request *r = d->request;
	bool full = false;

	while (r && r->sent < r->frame.n) {
		ssize_t k =
			fdpass_try(d->sock, r->frame.p + r->sent, r->frame.n - r->sent, NULL, 0);

		if (k < 0) {
			full = k == -EAGAIN || k == -ENOBUFS || k == -ENOMEM;
			break;
		}
		r->sent += (size_t)k;
	}
	loop_change_fd(d->pool->loop, d->watch, LOOP_READ | (full ? LOOP_WRITE : 0));
}

static struct hand *idle_hand(struct hands *h)
{
	for (unsigned i = 0; i < HANDS_MAX; i++)
		if (h->hand[i].sock >= 0 && !h->hand[i].request)
			return &h->hand[i];
	return NULL;
}

/* Returns true if a hand may begin one more slow request. At most half of the hands may work on
 * slow requests, but one hand always may. */
static bool slow_fits(const struct hands *h)
{
	unsigned all = 0, slow = 0;

	for (unsigned i = 0; i < HANDS_MAX; i++) {
		all += h->hand[i].sock >= 0;
		slow += h->hand[i].request && h->hand[i].request->slow;
	}
	return slow == 0 || slow < all / 2;
}

/* Returns the first request of the queue that a hand may begin now, or NULL. */
static struct hands_request *next_request(const struct hands *h)
{
	struct hands_request *r = h->first;
	bool fits = slow_fits(h);

	while (r && r->slow && !fits)
		r = r->next;
	return r;
}

/* Gives queued requests to idle hands. */
static void dispatch(struct hands *h)
{
	struct hands_request *r;
	struct hand *d;

	while (!h->freed && (d = idle_hand(h)) && (r = next_request(h))) {
		unqueue(h, r);
		d->request = r;
		r->hand = d;
		send_more(d);
	}
}

/* --- messages of a hand ---------------------------------------------------------------------- */

static int take_answer(struct hand *d, const struct hand_answer *m)
{
	struct hands_request *r = d->request;
	struct hands_answer a = { .mount = m->mount,
				  .warnings = m->warnings,
				  .leash = -1,
				  .connection = -1,
				  .bytes = m->bytes,
				  .entries = m->entries,
				  .held = m->held,
				  .found = m->found,
				  .usable = m->usable };
	struct err e;

	if (d->n_fds != (r->wants_sandbox && !m->code ? HAND_FDS : 0))
		return -EPROTO;
	if (d->n_fds) {
		a.leash = d->fd[0];
		a.connection = d->fd[1];
		d->n_fds = 0;
	}
	if (m->code) {
		err_set(&e, (enum err_code)m->code, "%s", m->text);
		/* valid only during the callback, like everything in the answer */
		e.hint = m->hint;
		a.err = &e;
	}
	d->request = NULL;
	r->hand = NULL;
	answer(r, &a);
	return 1;
}

static int on_frame(void *arg, const struct frame *f)
{
	struct hand *d = arg;
	struct hand_answer m;

	if (f->type != FRAME_HAND_ANSWER || !d->request || d->request->sent < d->request->frame.n ||
	    hand_answer_decode(f->body, &m) < 0)
		return -EPROTO;
	return take_answer(d, &m);
}

static void hear(struct hand *d)
{
	char chunk[READ_BYTES];
	unsigned got = 0;
	ssize_t n = fdpass_recv(d->sock, chunk, sizeof(chunk), d->fd + d->n_fds,
				HAND_FDS - d->n_fds, &got);
	int r;

	if (n == -EAGAIN)
		return;
	d->n_fds += got;
	if (n <= 0) {
		lost(d);
		return;
	}
	r = frame_feed(&d->in, chunk, (size_t)n, on_frame, d);
	if (r < 0)
		garbage(d);
	else if (r > 0 && d->sock >= 0)
		buf_clear(&d->in); /* drop further bytes: a hand sends nothing after its answer */
}

static void on_socket(void *arg, int fd, uint32_t events)
{
	struct hand *d = arg;
	struct hands *h = d->pool;

	enter(h);
	if (events & LOOP_WRITE)
		send_more(d);
	if (d->sock >= 0 && events & ~LOOP_WRITE)
		hear(d);
	dispatch(h);
	leave(h);
}

/* --- new hands ------------------------------------------------------------------------------- */

/* Adds a hand to the pool. The pool takes over both descriptors. */
static void add_hand(struct hands *h, int sock, int pidfd)
{
	for (unsigned i = 0; i < HANDS_MAX; i++) {
		struct hand *d = &h->hand[i];

		if (d->sock >= 0)
			continue;
		*d = (struct hand){ .pool = h, .sock = sock, .pidfd = pidfd };
		buf_init(&d->in, ANSWER_MAX_BYTES);
		IGNORE(fcntl(sock, F_SETFL, O_NONBLOCK)); /* cannot fail */
		d->watch = loop_add_fd(h->loop, sock, LOOP_READ, on_socket, d);
		if (!d->watch)
			IGNORE(drop_hand(d)); /* a new hand has no request */
		return;
	}
	fd_closep(&sock);
	fd_closep(&pidfd);
}

static void on_channel(void *arg, int fd, uint32_t events)
{
	struct hands *h = arg;
	int fds[2];
	unsigned got = 0;
	char byte;
	ssize_t n = fdpass_recv(fd, &byte, 1, fds, ARRAY_SIZE(fds), &got);

	if (n == -EAGAIN)
		return;
	enter(h);
	if (n == 1 && got == 2) {
		add_hand(h, fds[0], fds[1]);
		dispatch(h);
	} else {
		while (got > 0)
			fd_closep(&fds[--got]);
		loop_remove(h->loop, &h->watch);
		h->gone(h->arg);
	}
	leave(h);
}

/* --- calls of the owner ---------------------------------------------------------------------- */

static void on_deadline(void *arg)
{
	struct hands_request *r = arg;
	struct hands *h = r->pool;
	struct err e;

	r->timer = 0;
	enter(h);
	if (r->hand) {
		drop_hand(r->hand);
		err_set(&e, ERR_TIMEOUT, "it took too long and was given up");
	} else {
		unqueue(h, r);
		err_set(&e, ERR_TIMEOUT, "too many requests were in front of this one");
	}
	refuse(r, &e);
	dispatch(h);
	leave(h);
}

static int request_new(struct hands *h, const struct hand_request *q, struct hands_request **ret,
		       struct err *e)
{
	struct hands_request *r = xcalloc(1, sizeof(*r));
	size_t at;

	r->pool = h;
	r->wants_sandbox = q->task == HAND_CREATE || q->task == HAND_START;
	buf_init(&r->frame, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	at = frame_begin(&r->frame, FRAME_HAND_REQUEST, 0, 0);
	hand_request_encode(&r->frame, q);
	frame_end(&r->frame, at);
	if (!buf_failed(&r->frame) && h->n_queued < HANDS_QUEUE_MAX &&
	    h->n_bytes + r->frame.n <= HANDS_QUEUE_BYTES_MAX) {
		*ret = r;
		return 0;
	}
	if (buf_failed(&r->frame))
		err_set(e, ERR_LIMIT, "the request is too long");
	else
		err_set(e, ERR_LIMIT, "too many requests wait already");
	request_free(r);
	return -1;
}

static int ask(struct hands *h, const struct hand_request *q, bool slow, uint64_t deadline_ns,
	       hands_answer_fn *fn, void *arg, struct hands_request **ret, struct err *e)
{
	struct hands_request *r;

	if (request_new(h, q, &r, e) < 0)
		return -1;
	r->slow = slow;
	r->fn = fn;
	r->arg = arg;
	r->timer = loop_add_timer(h->loop, deadline_ns, on_deadline, r);
	if (!r->timer)
		out_of_memory();
	enqueue(h, r, h->last);
	dispatch(h);
	*ret = r;
	return 0;
}

int hands_ask(struct hands *h, const struct hand_request *q, uint64_t deadline_ns,
	      hands_answer_fn *fn, void *arg, struct hands_request **ret, struct err *e)
{
	return ask(h, q, false, deadline_ns, fn, arg, ret, e);
}

int hands_ask_slow(struct hands *h, const struct hand_request *q, uint64_t deadline_ns,
		   hands_answer_fn *fn, void *arg, struct hands_request **ret, struct err *e)
{
	return ask(h, q, true, deadline_ns, fn, arg, ret, e);
}

void hands_drop(struct hands_request *r)
{
	r->fn = NULL;
	if (r->hand)
		return;
	unqueue(r->pool, r);
	request_free(r);
}

void hands_write_spec(const struct spec *s, struct buf *b)
{
	struct json_writer w;

	json_writer_init(&w, b, 0);
	spec_write_json(s, &w);
}

/* --- the pool -------------------------------------------------------------------------------- */

int hands_new(struct loop *loop, int channel, hands_gone_fn *gone, void *arg, struct hands **ret,
	      struct err *e)
{
	struct hands *h = xcalloc(1, sizeof(*h));

	*h = (struct hands){ .loop = loop, .channel = channel, .gone = gone, .arg = arg };
	h->last = &h->first;
	for (unsigned i = 0; i < HANDS_MAX; i++)
		h->hand[i] = (struct hand){ .pool = h, .sock = -1, .pidfd = -1 };
	IGNORE(fcntl(channel, F_SETFL, O_NONBLOCK)); /* cannot fail */
	h->watch = loop_add_fd(loop, channel, LOOP_READ, on_channel, h);
	if (!h->watch) {
		err_sys(e, errno, "watch the channel to the foreman");
		hands_free(h);
		return -1;
	}
	*ret = h;
	return 0;
}

void hands_free(struct hands *h)
{
	if (!h || h->freed)
		return;
	enter(h);
	h->freed = true;
	loop_remove(h->loop, &h->watch);
	fd_closep(&h->channel);
	for (unsigned i = 0; i < HANDS_MAX; i++) {
		struct hands_request *r = h->hand[i].sock >= 0 ? drop_hand(&h->hand[i]) : NULL;

		if (r)
			request_free(r);
	}
	while (h->first) {
		struct hands_request *r = h->first;

		unqueue(h, r);
		request_free(r);
	}
	leave(h);
}
