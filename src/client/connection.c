#include "client/connection.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "state/home.h"
#include "wire/message.h"

#define FRAMES_BYTES 8192 /* the most bytes that one read takes from pid 1 */

void client_adopt(struct client *c, const struct home *h, const char *name, int fd)
{
	*c = (struct client){ .home = h, .name = name, .fd = fd };
	buf_init(&c->in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + FRAMES_BYTES);
}

int client_open(struct client *c, const struct home *h, const char *name, struct err *e)
{
	int r;

	client_adopt(c, h, name, -1);
	r = home_connect(h, name, "sock", &c->fd);
	if (r == -ENOENT || r == -ECONNREFUSED)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", name);
	return r < 0 ? err_sys(e, -r, "connect to sandbox '%s'", name) : 0;
}

void client_done(struct client *c)
{
	fd_closep(&c->fd);
	buf_done(&c->in);
}

static int lost(const struct client *c, struct err *e)
{
	return err_set(e, ERR_SYSTEM, "connection to sandbox '%s' was lost", c->name);
}

void client_greet(struct client *c, struct buf *b)
{
	if (!c->greeted)
		hello_encode(b);
	c->greeted = true;
}

int client_request(struct client *c, const struct buf *b, const int *fds, unsigned n_fds,
		   struct err *e)
{
	if (buf_failed(b))
		return err_set(e, ERR_LIMIT, "the command and its environment are too long");
	return fdpass_send(c->fd, b->p, b->n, fds, n_fds) < 0 ? lost(c, e) : 0;
}

bool client_send(struct client *c, const struct buf *b)
{
	return fdpass_send(c->fd, b->p, b->n, NULL, 0) == 0;
}

int client_receive(struct client *c, frame_fn *fn, void *arg, struct err *e)
{
	char chunk[FRAMES_BYTES];
	ssize_t n = recv(c->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	int k;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return lost(c, e);
	k = frame_feed(&c->in, chunk, (size_t)n, fn, arg);
	if (k < 0)
		return err_set(e, ERR_PROTOCOL, "sandbox '%s' sent garbage", c->name);
	return k;
}
