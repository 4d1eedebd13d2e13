#include "client/leash.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "wire/leash.h"

#define CHUNK_BYTES 4096
#define IN_MAX_BYTES (64u << 10)

struct request {
	leash_answer_fn *fn;
	void *arg;
};

/* DEPTH counts the callbacks that are running: a freed leash keeps its memory until the last of
 * them has returned. */
struct leash {
	struct loop *loop;
	int fd; /* -1: the sandbox is gone, or the leash was freed */
	loop_id watch;
	struct buf in;
	struct request request[LEASH_REQUESTS_MAX];
	unsigned first, n;
	unsigned depth;
	bool ending, freed;
	leash_gone_fn *gone;
	void *arg;
};

static void enter(struct leash *l)
{
	l->depth++;
}

static void leave(struct leash *l)
{
	if (--l->depth > 0 || !l->freed)
		return;
	buf_done(&l->in);
	free(l);
}

static void answer(struct leash *l, const struct err *why)
{
	struct request q = l->request[l->first];

	l->first = (l->first + 1) % LEASH_REQUESTS_MAX;
	l->n--;
	q.fn(q.arg, why);
}

static void hang_up(struct leash *l)
{
	loop_remove(l->loop, &l->watch);
	fd_closep(&l->fd);
}

/* Tells the owner that the sandbox is gone, after answering every open request. */
static void be_gone(struct leash *l)
{
	struct err why;

	hang_up(l);
	err_set(&why, ERR_NOT_RUNNING, "the sandbox is gone");
	while (!l->freed && l->n > 0)
		answer(l, &why);
	if (!l->freed)
		l->gone(l->arg);
}

/* If no request waits, the frame belongs to the start of the sandbox and is ignored. */
static int on_frame(void *arg, const struct frame *f)
{
	struct leash *l = arg;
	struct err why = { 0 };
	const char *text;
	unsigned code;

	if (l->n == 0)
		return 0;
	if (f->type == FRAME_OK) {
		answer(l, NULL);
	} else if (f->type == FRAME_ERROR && error_decode(f->body, &code, &text) == 0) {
		err_set(&why, (enum err_code)code, "%s", text);
		answer(l, &why);
	}
	return l->freed || l->fd < 0;
}

static void on_readable(void *arg, int fd, uint32_t events)
{
	struct leash *l = arg;
	char chunk[CHUNK_BYTES];
	ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	enter(l);
	if (n <= 0 || frame_feed(&l->in, chunk, (size_t)n, on_frame, l) < 0)
		be_gone(l);
	leave(l);
}

int leash_new(struct loop *loop, int fd, leash_gone_fn *gone, void *arg, struct leash **ret,
	      struct err *e)
{
	AUTO_FD taken = fd;
	struct leash *l = xcalloc(1, sizeof(*l));

	*l = (struct leash){ .loop = loop, .fd = fd, .gone = gone, .arg = arg };
	buf_init(&l->in, IN_MAX_BYTES);
	l->watch = loop_add_fd(loop, fd, LOOP_READ, on_readable, l);
	if (!l->watch) {
		free(l);
		return err_sys(e, errno, "watch the leash of a sandbox");
	}
	IGNORE(fd_take(&taken));
	*ret = l;
	return 0;
}

void leash_free(struct leash *l)
{
	if (!l)
		return;
	hang_up(l);
	l->freed = true;
	enter(l);
	leave(l);
}

void leash_end(struct leash *l)
{
	l->ending = true;
	if (l->fd >= 0)
		IGNORE(shutdown(l->fd, SHUT_WR)); /* the sandbox may have ended already */
}

int leash_set_limits(struct leash *l, const struct limits_message *m, leash_answer_fn *fn,
		     void *arg, struct err *e)
{
	AUTO_BUF body = BUF_INIT(128), b = BUF_INIT(256);

	if (l->fd < 0 || l->ending)
		return err_set(e, ERR_NOT_RUNNING, "the sandbox is gone");
	if (l->n == LEASH_REQUESTS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u requests wait on a leash",
			       LEASH_REQUESTS_MAX);
	limits_encode(&body, m);
	buf_add_char(&b, LEASH_LIMITS);
	frame_put(&b, FRAME_LIMITS, 0, 0, body.p, body.n);
	if (send(l->fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)b.n)
		return err_set(e, ERR_NOT_RUNNING,
			       "the supervisor of the sandbox takes no request");
	l->request[(l->first + l->n++) % LEASH_REQUESTS_MAX] = (struct request){ fn, arg };
	return 0;
}
