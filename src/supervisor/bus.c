#include "supervisor/bus.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define DRIVER "org.freedesktop.DBus"
#define IN_MAX_BYTES (2 * DBUS_MESSAGE_MAX_BYTES)
#define OUT_MAX_BYTES 8192

/* Returns true if our own user listens on the socket. If another user listens, the answers do not
 * come from our user's systemd. */
static bool is_ours(int fd)
{
	struct ucred peer = { 0 };
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

static int connect_to(const char *dir, int *ret)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int n = snprintf(to.sun_path, sizeof(to.sun_path), "%s/bus", dir);
	AUTO_FD fd = -1;

	if (n < 0 || (size_t)n >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	if (!is_ours(fd))
		return -EPERM;
	*ret = fd_take(&fd);
	return 0;
}

static int find(struct bus *b, struct err *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[64];
	int r = -ENOENT;

	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned)geteuid());
	if (runtime && runtime[0] == '/')
		r = connect_to(runtime, &b->fd);
	if (r < 0)
		r = connect_to(usual, &b->fd);
	return r < 0 ? err_sys(e, -r, "connect to the bus of uid %u", (unsigned)geteuid()) : 0;
}

static int send_all(const struct bus *b, const struct buf *out, struct err *e)
{
	ssize_t n;

	if (buf_failed(out))
		return err_set(e, ERR_LIMIT, "a message to the bus is too long");
	/* one call sends the whole message: each of our messages fits into an empty socket */
	do
		n = send(b->fd, out->p, out->n, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, errno, "send to the bus");
	return (size_t)n == out->n ? 0 : err_set(e, ERR_PROTOCOL, "the bus does not read");
}

/* Reads more bytes. Fails at the deadline, even if the bus sends bytes all the time. */
static int receive(struct bus *b, struct err *e)
{
	struct pollfd p = { .fd = b->fd, .events = POLLIN };
	char chunk[4096];
	ssize_t n = -1;

	buf_drop(&b->in, b->used);
	b->used = 0;
	while (n < 0) {
		if (clock_mono_ns() >= b->deadline_ns)
			return err_set(e, ERR_TIMEOUT, "the bus did not answer in time");
		/* the recv() below reports a failure */
		IGNORE(poll(&p, 1, clock_poll_ms(b->deadline_ns)));
		n = recv(b->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, errno, "read from the bus");
	}
	if (n == 0)
		return err_set(e, ERR_PROTOCOL, "the bus hung up");
	buf_add(&b->in, chunk, (size_t)n);
	return buf_failed(&b->in) ? err_set(e, ERR_LIMIT, "the bus sends too much") : 0;
}

static struct str unread(const struct bus *b)
{
	return (struct str){ buf_str(&b->in) + b->used, b->in.n - b->used };
}

static int log_in(struct bus *b, struct err *e)
{
	AUTO_BUF out = BUF_INIT(OUT_MAX_BYTES);
	struct str rest = unread(b);
	int r;

	dbus_put_login(&out, geteuid());
	if (send_all(b, &out, e) < 0)
		return -1;
	while ((r = dbus_login_answer(&rest)) == 0) {
		if (receive(b, e) < 0)
			return -1;
		rest = unread(b);
	}
	if (r < 0)
		return err_sys(e, -r, "log in to the bus");
	b->used = b->in.n - rest.n;
	buf_clear(&out);
	dbus_put_begin(&out);
	return send_all(b, &out, e);
}

static int say_hello(struct bus *b, struct err *e)
{
	static const struct dbus_call hello = { .destination = DRIVER,
						.path = "/org/freedesktop/DBus",
						.interface = DRIVER,
						.member = "Hello",
						.signature = "" };
	AUTO_BUF none = BUF_INIT(1);
	struct dbus_message m;

	if (bus_call(b, &hello, &none, &m, e) < 0)
		return -1;
	return m.type == DBUS_RETURN ? 0 : err_set(e, ERR_DENIED, "the bus refused the login");
}

int bus_open(struct bus *b, uint64_t deadline_ns, struct err *e)
{
	*b = (struct bus)BUS_NONE;
	b->deadline_ns = deadline_ns;
	buf_init(&b->in, IN_MAX_BYTES);
	if (find(b, e) < 0 || log_in(b, e) < 0)
		return -1;
	return say_hello(b, e);
}

void bus_done(struct bus *b)
{
	fd_closep(&b->fd);
	buf_done(&b->in);
}

int bus_next(struct bus *b, struct dbus_message *ret, struct err *e)
{
	for (;;) {
		struct str rest = unread(b);
		int r = dbus_next(&rest, ret);

		if (r < 0)
			return err_set(e, ERR_PROTOCOL, "the bus sent a malformed message");
		if (r > 0) {
			b->used = b->in.n - rest.n;
			return 0;
		}
		if (receive(b, e) < 0)
			return -1;
	}
}

int bus_call(struct bus *b, const struct dbus_call *c, const struct buf *body,
	     struct dbus_message *ret, struct err *e)
{
	AUTO_BUF out = BUF_INIT(OUT_MAX_BYTES);
	struct dbus_call numbered = *c;

	if (buf_failed(body))
		return err_set(e, ERR_LIMIT, "a message to the bus is too long");
	/* after the deadline, do not send a call whose answer we would not await */
	if (clock_mono_ns() >= b->deadline_ns)
		return err_set(e, ERR_TIMEOUT, "%s: the bus did not answer in time", c->member);
	numbered.serial = ++b->serial;
	dbus_put_call(&out, &numbered, body);
	if (send_all(b, &out, e) < 0)
		return -1;
	do
		if (bus_next(b, ret, e) < 0)
			return err_wrap(e, "%s", c->member);
	while (ret->reply_serial != numbered.serial ||
	       (ret->type != DBUS_RETURN && ret->type != DBUS_ERROR));
	return 0;
}
