#include "client/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/log.h"
#include "client/control.h"
#include "state/record.h"
#include "state/record_lock.h"
#include "state/removal.h"

#define SUPERVISOR "cordon-supervisor"
/* how long to wait for the lock of a supervisor whose sockets are gone */
#define GONE_WAIT_MS 2000
/* how many times we ask: a supervisor that has no free descriptors or memory closes the connection,
 * and then we ask again */
#define STOP_TRIES 3
/* how long to wait for the sandbox's end after the connection was closed, before the next try */
#define HUNG_UP_MS 500
#define DEFAULT_GRACE_MS 2000
/* the longest grace period that a supervisor accepts from its environment */
#define GRACE_MAX_MS 600000

/* --- by force -------------------------------------------------------------------------------- */

/* Returns true if PID runs "cordon-supervisor NAME". Otherwise the pid belongs to another
 * program by now. */
static bool is_supervisor(pid_t pid, const char *name)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/cmdline", (int)pid);
	AUTO_BUF is = BUF_INIT(4096), want = BUF_INIT(512);

	buf_add(&want, SUPERVISOR, sizeof(SUPERVISOR));
	buf_add(&want, name, strlen(name) + 1);
	return io_read_file(AT_FDCWD, path, &is) == 0 && is.n == want.n &&
	       memcmp(is.p, want.p, is.n) == 0;
}

/* Kills a supervisor that does not answer. PEER is the process that accepted our last
 * connection, or 0. We prefer PEER, because the pid in the record may still be that of the
 * previous supervisor. */
static void kill_supervisor(const struct home *h, const char *name, int dir, pid_t peer)
{
	AUTO_RECORD r = RECORD_NONE;
	AUTO_FD pidfd = -1;
	struct err e;
	pid_t pid;

	if (record_load(h, name, &r, &e) < 0 || (dir >= 0 && record_is_retired(h, name, dir)))
		return;
	pid = peer > 1 ? peer : r.state.supervisor;
	pidfd = pid > 1 ? sys_pidfd_open(pid) : -1;
	/* the supervisor may have ended already */
	if (pidfd >= 0 && record_is_live(r.dir) > 0 && is_supervisor(pid, name))
		IGNORE(sys_pidfd_send_signal(pidfd, SIGKILL));
}

/* --- by the supervisor ----------------------------------------------------------------------- */

/* Waits until the lock is free, which means that nothing of the sandbox runs. Returns 0, also if
 * the sandbox no longer exists, or -1 if the lock cannot be opened or is not free after WAIT_MS. */
static int wait_down(const struct home *h, const char *name, unsigned wait_ms, struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;

	if ((record_open_lock(h, name, &dir, &lock, e) == 0 &&
	     record_lock(h, name, dir, lock, wait_ms, e) == 0) ||
	    e->code == ERR_NOT_FOUND)
		return 0;
	return -1;
}

/* Asks the supervisor to stop the sandbox and waits. Returns 1 if the sandbox is down and the
 * supervisor has released its lock, 0 if the supervisor closed the connection before that, or
 * -errno. We wait for the supervisor's answer and not for the lock, because the next supervisor may
 * already have the lock. If UNSAID is true, the request has no grace period, and the supervisor
 * takes the grace period of its own environment. We do not know how long this period is, so we go
 * on waiting while the supervisor answers other questions, for at most GRACE_MAX_MS. */
static int ask_to_stop(const struct home *h, const char *name, int fd, uint64_t grace, bool unsaid)
{
	uint64_t deadline = clock_mono_ns() + (grace + CONTROL_ANSWER_MS) * NS_PER_MS;
	uint64_t latest = deadline + (unsaid ? GRACE_MAX_MS * NS_PER_MS : 0);
	AUTO_BUF body = BUF_INIT(64);
	AUTO_BUF frame = BUF_INIT(128);
	struct usage_message alive;
	struct err e;
	int r;

	if (!unsaid)
		number_encode(&body, grace);
	frame_put(&frame, FRAME_STOP, 0, 0, body.p, body.n);
	if (buf_failed(&frame))
		return -ENOMEM;
	r = fdpass_send(fd, frame.p, frame.n, NULL, 0);
	if (r == 0)
		r = control_wait(fd, FRAME_STOPPED, deadline, NULL);
	while (r == -ETIMEDOUT && deadline < latest && control_usage(h, name, &alive, &e) == 0) {
		deadline = clock_mono_ns() + CONTROL_ANSWER_MS * NS_PER_MS;
		r = control_wait(fd, FRAME_STOPPED, deadline, NULL);
	}
	if (r > 0)
		IGNORE(control_wait(fd, FRAME_STOPPED, deadline,
				    NULL)); /* wait until the supervisor closes the connection */
	return r == -EPIPE ? 0 : r;
}

/* Gets the grace period from our environment. Returns false if the environment sets no valid grace
 * period. */
static bool grace_of_caller(uint64_t *ret_ms)
{
	const char *text = getenv("MSB_SHUTDOWN_FLUSH_TIMEOUT_MS");

	return text && parse_u64(text, 0, GRACE_MAX_MS, ret_ms) == 0;
}

int sandbox_stop(const struct home *h, const char *name, uint32_t grace_ms, struct err *e)
{
	return sandbox_stop_this(h, name, -1, grace_ms, e);
}

int sandbox_stop_this(const struct home *h, const char *name, int dir, uint32_t grace_ms,
		      struct err *e)
{
	bool usual = grace_ms == STOP_GRACE_DEFAULT;
	uint64_t grace = usual ? DEFAULT_GRACE_MS : grace_ms;
	bool unsaid = usual && !grace_of_caller(&grace);
	bool unseen = false; /* an earlier try found no socket */
	pid_t peer = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < STOP_TRIES; i++) {
		AUTO_FD fd = -1;

		r = i == 0 ? control_connect(h, name, &fd) : home_connect(h, name, "ctl", &fd);
		/* We have connected by the name. If NAME does not lead to DIR now, the sandbox of
		 * DIR is gone, and another sandbox may have answered. If NAME leads to DIR now,
		 * NAME also led to DIR when we connected, because a name never leads back to an
		 * earlier record. */
		if (dir >= 0 && record_is_retired(h, name, dir))
			return 0;
		if (r == -ENOENT || r == -ECONNREFUSED) {
			/* The sandbox is down or on its way down, or its sockets were deleted. Try
			 * once more, because another command may be starting the sandbox. */
			if (wait_down(h, name, GONE_WAIT_MS, e) == 0)
				return 0;
			if (unseen)
				break;
			unseen = true;
			r = 0;
			continue;
		}
		if (r < 0)
			return err_sys(e, -r, "reach the supervisor of sandbox '%s'", name);
		peer = control_peer(fd);
		log_line(LOG_INFO, "stop sandbox '%s' within %llu ms", name,
			 (unsigned long long)grace);
		r = ask_to_stop(h, name, fd, grace, unsaid);
		if (r == 0 && wait_down(h, name, HUNG_UP_MS, e) == 0)
			return 0;
	}
	if (r > 0)
		return 0;
	log_line(LOG_WARN, "the supervisor of sandbox '%s' does not answer: killing it", name);
	kill_supervisor(h, name, dir, peer);
	return wait_down(h, name, CONTROL_LOCK_MS, e);
}

int sandbox_quit(const struct home *h, const char *name, struct err *e)
{
	AUTO_BUF body = BUF_INIT(64);
	uint64_t others;

	if (control_ask_pid_1(h, name, FRAME_QUIT, &body) == 0 &&
	    number_decode((struct str){ body.p, body.n }, &others) == 0 && others > 0)
		return 0;
	return sandbox_stop(h, name, STOP_GRACE_DEFAULT, e);
}
