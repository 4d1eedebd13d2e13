#include "client/control.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "client/usage.h"
#include "state/home.h"
#include "state/record_lock.h"

#define USAGE_WAIT_MS 1000 /* if a supervisor has not answered after this time, it is stuck */

/* --- the channel ----------------------------------------------------------------------------- */

int control_wait(int fd, enum frame_type type, uint64_t deadline, struct buf *body)
{
	AUTO_BUF in = BUF_INIT(65536);

	for (;;) {
		struct str rest = { in.p, in.n };
		struct frame f;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char chunk[4096];
		ssize_t n;
		int r;

		while ((r = frame_next(&rest, &f)) > 0) {
			log_line(LOG_TRACE, "frame %u of %zu bytes", (unsigned)f.type, f.body.n);
			if (f.type == type) {
				if (body)
					buf_add(body, f.body.p, f.body.n);
				return 1;
			}
		}
		if (r < 0 || buf_failed(&in))
			return -EPROTO;
		if (clock_mono_ns() >= deadline)
			return -ETIMEDOUT;
		if (poll(&p, 1, clock_poll_ms(deadline)) < 0 && errno != EINTR)
			return -errno;
		if (!p.revents)
			continue;
		n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return errno == ECONNRESET ? 0 : -errno;
		if (n == 0)
			return 0;
		buf_drop(&in, in.n - rest.n);
		buf_add(&in, chunk, (size_t)n);
	}
}

int control_connect(const struct home *h, const char *name, int *ret_fd)
{
	int r = home_connect(h, name, "ctl", ret_fd);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		record_await_start(h, name);
		r = home_connect(h, name, "ctl", ret_fd);
	}
	return r;
}

pid_t control_peer(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

/* --- the record ------------------------------------------------------------------------------ */

int control_lock(const struct home *h, const char *name, bool starts, int *ret_dir, int *ret_lock,
		 struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	AUTO_FD fd = -1;
	int r;

	if (record_open_lock(h, name, &dir, &lock, e) < 0)
		return -1;
	if (starts)
		record_start_begins(lock);
	r = record_lock(h, name, dir, lock, 0, e);
	if (r < 0 && e->code == ERR_BUSY &&
	    (starts ? home_connect(h, name, "ctl", &fd) : control_connect(h, name, &fd)) < 0)
		r = record_lock(h, name, dir, lock, CONTROL_LOCK_MS, e);
	if (r < 0)
		return -1;
	*ret_dir = fd_take(&dir);
	*ret_lock = fd_take(&lock);
	return 0;
}

/* --- questions ------------------------------------------------------------------------------- */

int control_ask_pid_1(const struct home *h, const char *name, enum frame_type type,
		      struct buf *body)
{
	uint64_t deadline = clock_mono_ns() + CONTROL_ANSWER_MS * NS_PER_MS;
	AUTO_BUF b = BUF_INIT(256);
	AUTO_FD fd = -1;
	int r = home_connect(h, name, "sock", &fd);

	if (r == 0) {
		hello_encode(&b);
		frame_put(&b, type, 0, 1, NULL, 0);
		r = fdpass_send(fd, b.p, b.n, NULL, 0);
	}
	if (r == 0)
		r = control_wait(fd, FRAME_PONG, deadline, body);
	return r > 0 ? 0 : r < 0 ? r : -EPIPE;
}

int control_ping(const struct home *h, const char *name, bool touch, uint64_t *ret_ns,
		 struct err *e)
{
	uint64_t start = clock_mono_ns();

	if (control_ask_pid_1(h, name, touch ? FRAME_TOUCH : FRAME_PING, NULL) < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' does not answer", name);
	*ret_ns = clock_mono_ns() - start;
	return 0;
}

/* Returns true if the supervisor is in our pid namespace, so that the pids in U mean the same
 * processes for us. */
static bool same_pids(int fd, const struct usage_message *u)
{
	pid_t peer = control_peer(fd);

	return peer > 0 && (uint64_t)peer == u->supervisor;
}

int control_usage(const struct home *h, const char *name, struct usage_message *ret, struct err *e)
{
	AUTO_BUF frame = BUF_INIT(64);
	AUTO_BUF body = BUF_INIT(4096);
	AUTO_FD fd = -1;
	int r = home_connect(h, name, "ctl", &fd);

	if (r < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", name);
	frame_put(&frame, FRAME_USAGE, 0, 0, NULL, 0);
	r = fdpass_send(fd, frame.p, frame.n, NULL, 0);
	if (r == 0)
		r = control_wait(fd, FRAME_USAGE_ANSWER,
				 clock_mono_ns() + USAGE_WAIT_MS * NS_PER_MS, &body);
	if (r == 0 || r == -EPIPE)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' has just ended", name);
	if (r < 0)
		return err_set(e, ERR_TIMEOUT, "the supervisor of sandbox '%s' does not answer",
			       name);
	if (usage_decode((struct str){ body.p, body.n }, ret) < 0)
		return err_set(e, ERR_PROTOCOL, "the usage of sandbox '%s' is not understood",
			       name);
	if (same_pids(fd, ret) && ret->pid_1 <= INT32_MAX)
		usage_complete(ret, (pid_t)ret->pid_1);
	return 0;
}
