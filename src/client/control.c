#include "client/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "base/spawn.h"
#include "client/usage.h"
#include "state/record.h"
#include "state/record_config.h"
#include "state/record_lock.h"
#include "state/removal.h"
#include "wire/message.h"

#define SUPERVISOR "cordon-supervisor"
#define ANSWER_WAIT_MS 5000 /* beyond its grace a supervisor that still lives is stuck */
#define USAGE_WAIT_MS 1000  /* it answers at once, or it is stuck */
#define LOCK_WAIT_MS 10000
#define GONE_WAIT_MS 2000 /* to give up the lock, for one whose sockets are gone */
#define STOP_TRIES 3      /* a supervisor short of descriptors or memory hangs up on us */
#define HUNG_UP_MS 500    /* … or was ending anyway */
#define DEFAULT_GRACE_MS 2000
#define GRACE_MAX_MS 600000 /* that a supervisor takes from its environment */

/* Reads until a frame of TYPE, the end of the stream (0) or the deadline. 1, 0 or -errno. Its body
 * goes to BODY unless that is NULL. */
static int wait_for(int fd, enum frame_type type, uint64_t deadline, struct buf *body)
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

/* "cordon-supervisor NAME", and not another program that has got its number since. */
static bool is_supervisor(pid_t pid, const char *name)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/cmdline", (int)pid);
	AUTO_BUF is = BUF_INIT(4096), want = BUF_INIT(512);

	buf_add(&want, SUPERVISOR, sizeof(SUPERVISOR));
	buf_add(&want, name, strlen(name) + 1);
	return io_read_file(AT_FDCWD, path, &is) == 0 && is.n == want.n &&
	       memcmp(is.p, want.p, is.n) == 0;
}

/* A supervisor that does not answer is ended by force. PEER is what it was when it last took a connection,
 * or 0; the record's number may be that of the one before. */
static void kill_supervisor(const struct home *h, const char *name, pid_t peer)
{
	AUTO_RECORD r = RECORD_NONE;
	AUTO_FD pidfd = -1;
	struct err e;
	pid_t pid;

	if (record_load(h, name, &r, &e) < 0)
		return;
	pid = peer > 1 ? peer : r.state.supervisor;
	pidfd = pid > 1 ? sys_pidfd_open(pid) : -1;
	if (pidfd >= 0 && record_is_live(r.dir) > 0 && is_supervisor(pid, name))
		IGNORE(sys_pidfd_send_signal(pidfd, SIGKILL)); /* gone is what we want */
}

/* The lock is free again: nothing of it runs. */
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

/* Connects to the supervisor; one that is just starting is given the time to listen. */
static int connect_control(const struct home *h, const char *name, int *ret_fd)
{
	int r = home_connect(h, name, "ctl", ret_fd);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		record_await_start(h, name);
		r = home_connect(h, name, "ctl", ret_fd);
	}
	return r;
}

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
	    (starts ? home_connect(h, name, "ctl", &fd) : connect_control(h, name, &fd)) < 0)
		r = record_lock(h, name, dir, lock, LOCK_WAIT_MS, e);
	if (r < 0)
		return -1;
	*ret_dir = fd_take(&dir);
	*ret_lock = fd_take(&lock);
	return 0;
}

static pid_t peer_of(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.pid : 0;
}

/* 1 when it is down and has given up its lock, 0 when it hung up before that, or -errno. The lock itself
 * tells nothing: it may be the next one's already. UNSAID: it is not told to take GRACE, and may have been
 * started with another idea of what a stop takes, so one that still answers is waited for. */
static int ask_to_stop(const struct home *h, const char *name, int fd, uint64_t grace, bool unsaid)
{
	uint64_t deadline = clock_mono_ns() + (grace + ANSWER_WAIT_MS) * NS_PER_MS;
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
		r = wait_for(fd, FRAME_STOPPED, deadline, NULL);
	while (r == -ETIMEDOUT && deadline < latest && control_usage(h, name, &alive, &e) == 0) {
		deadline = clock_mono_ns() + ANSWER_WAIT_MS * NS_PER_MS;
		r = wait_for(fd, FRAME_STOPPED, deadline, NULL);
	}
	if (r > 0)
		IGNORE(wait_for(fd, FRAME_STOPPED, deadline, NULL)); /* to the end of the stream */
	return r == -EPIPE ? 0 : r;
}

/* False: our environment does not say. */
static bool grace_of_caller(uint64_t *ret_ms)
{
	const char *text = getenv("MSB_SHUTDOWN_FLUSH_TIMEOUT_MS");

	return text && parse_u64(text, 0, GRACE_MAX_MS, ret_ms) == 0;
}

int control_stop(const struct home *h, const char *name, uint32_t grace_ms, struct err *e)
{
	bool usual = grace_ms == CONTROL_GRACE_DEFAULT;
	uint64_t grace = usual ? DEFAULT_GRACE_MS : grace_ms;
	bool unsaid = usual && !grace_of_caller(&grace);
	bool unseen = false; /* no socket was there before either */
	pid_t peer = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < STOP_TRIES; i++) {
		AUTO_FD fd = -1;

		r = i == 0 ? connect_control(h, name, &fd) : home_connect(h, name, "ctl", &fd);
		if (r == -ENOENT || r == -ECONNREFUSED) {
			/* it is down, or on its way; or somebody deleted its sockets, if they are not
			 * there when another command has had the time to start it again */
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
		peer = peer_of(fd);
		log_line(LOG_INFO, "stop sandbox '%s' within %llu ms", name,
			 (unsigned long long)grace);
		r = ask_to_stop(h, name, fd, grace, unsaid);
		if (r == 0 && wait_down(h, name, HUNG_UP_MS, e) == 0)
			return 0;
	}
	if (r > 0)
		return 0;
	log_line(LOG_WARN, "the supervisor of sandbox '%s' does not answer: killing it", name);
	kill_supervisor(h, name, peer);
	return wait_down(h, name, LOCK_WAIT_MS, e);
}

/* A question that pid 1 answers with PONG: -errno, or 0 and its BODY. */
static int ask_pid_1(const struct home *h, const char *name, enum frame_type type, struct buf *body)
{
	uint64_t deadline = clock_mono_ns() + ANSWER_WAIT_MS * NS_PER_MS;
	AUTO_BUF b = BUF_INIT(256);
	AUTO_FD fd = -1;
	int r = home_connect(h, name, "sock", &fd);

	if (r == 0) {
		hello_encode(&b);
		frame_put(&b, type, 0, 1, NULL, 0);
		r = fdpass_send(fd, b.p, b.n, NULL, 0);
	}
	if (r == 0)
		r = wait_for(fd, FRAME_PONG, deadline, body);
	return r > 0 ? 0 : r < 0 ? r : -EPIPE;
}

int control_ping(const struct home *h, const char *name, bool touch, uint64_t *ret_ns,
		 struct err *e)
{
	uint64_t start = clock_mono_ns();

	if (ask_pid_1(h, name, touch ? FRAME_TOUCH : FRAME_PING, NULL) < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' does not answer", name);
	*ret_ns = clock_mono_ns() - start;
	return 0;
}

int control_quit(const struct home *h, const char *name, struct err *e)
{
	AUTO_BUF body = BUF_INIT(64);
	uint64_t others;

	if (ask_pid_1(h, name, FRAME_QUIT, &body) == 0 &&
	    number_decode((struct str){ body.p, body.n }, &others) == 0 && others > 0)
		return 0;
	return control_stop(h, name, CONTROL_GRACE_DEFAULT, e);
}

/* Work that needs the engine: what a killed supervisor left, files of a sub-range. */
static int ask_supervisor(const struct home *h, const char *what, const char *name, struct err *e)
{
	AUTO_FREE char *program = NULL;
	AUTO_FREE char *home_var = xasprintf("CORDON_HOME=%s", h->path);
	const char *argv[] = { SUPERVISOR, what, name, NULL };
	const char *env[] = { home_var, NULL };
	struct child c;
	int status;

	if (program_ours(SUPERVISOR, &program, e) < 0)
		return -1;
	struct spawn s = { .path = program, .argv = argv, .envp = env, .cwd_fd = -1 };
	if (spawn(&s, &c, e) < 0)
		return -1;
	if (child_wait(&c, &status) < 0 || status != 0)
		return err_set(e, ERR_SYSTEM, "cannot clean up after a sandbox ('%s')", what);
	return 0;
}

static void release(const struct home *h, const char *entry)
{
	struct err ignored;

	IGNORE(ask_supervisor(h, "--release", entry,
			      &ignored)); /* its files shall go all the same */
}

void control_sweep(const struct home *h)
{
	struct err ignored;

	if (!record_sweep(h, release))
		IGNORE(ask_supervisor(h, "--sweep", NULL, &ignored)); /* next time */
}

int control_sweep_range(const struct home *h, struct err *e)
{
	IGNORE(record_sweep(h,
			    release)); /* what is left to do for them is not done with other ids */
	return ask_supervisor(h, "--sweep", NULL, e);
}

/* Numbers of processes mean the same here and there. */
static bool same_pids(int fd, const struct usage_message *u)
{
	pid_t peer = peer_of(fd);

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
		r = wait_for(fd, FRAME_USAGE_ANSWER, clock_mono_ns() + USAGE_WAIT_MS * NS_PER_MS,
			     &body);
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

/* Everything of a sandbox that is down. Takes its lock. */
static int erase(const struct home *h, const char *name, int dir, int *lock, struct err *e)
{
	struct state last;
	int r;

	if ((state_read(dir, &last) < 0 || last.status != STATUS_STOPPED) &&
	    ask_supervisor(h, "--release", name, e) < 0)
		return -1;
	log_line(LOG_INFO, "remove sandbox '%s'", name);
	home_erase_sockets(h, name);
	r = record_retire(h, name);
	if (r < 0)
		return err_sys(e, -r, "take sandbox '%s' out of the list", name);
	if (record_erase(h, name, e) == 0)
		return 0;
	fd_closep(lock); /* a sweep leaves alone what somebody holds */
	if (e->code != ERR_DENIED || control_sweep_range(h, e) < 0)
		return -1;
	if (record_erase(h, name, e) == 0)
		return 0;
	return e->code == ERR_DENIED
		       ? err_hint(e,
				  "only newuidmap helps to delete them; 'cordon list' tries again")
		       : -1;
}

bool control_sweep_one(const struct home *h, const char *name)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	struct err e;

	return record_open_lock(h, name, &dir, &lock, &e) == 0 &&
	       record_lock(h, name, dir, lock, LOCK_WAIT_MS, &e) == 0 && record_is_leftover(dir) &&
	       erase(h, name, dir, &lock, &e) == 0;
}

int control_claim(const struct home *h, const struct spec *s, int *ret_dir, int *ret_lock,
		  struct err *e)
{
	AUTO_RECORD there = RECORD_NONE;
	struct err none;
	int r = record_create(h, s, ret_dir, ret_lock, e);

	if (r == 0 || e->code != ERR_EXISTS || record_load(h, s->name, &there, &none) == 0 ||
	    none.code != ERR_NOT_FOUND)
		return r;
	control_sweep_one(h, s->name); /* unless another command did */
	return record_create(h, s, ret_dir, ret_lock, e);
}

void control_retire(const struct home *h, const char *name)
{
	IGNORE(record_retire(h, name)); /* then its supervisor is the first to do so */
}

int control_remove(const struct home *h, const char *name, bool force, struct err *e)
{
	AUTO_FD dir = -1;
	AUTO_FD lock = -1;
	int r;

	if (spec_check_name("sandbox", name, e) < 0)
		return err_set(e, ERR_NOT_FOUND, "sandbox not found: %s", name);
	if (force && control_stop(h, name, 0, e) < 0)
		return -1;
	r = control_lock(h, name, false, &dir, &lock, e);
	if (r < 0) {
		if (e->code == ERR_BUSY && !force)
			err_set(e, ERR_BUSY,
				"sandbox still running: %s; stop it first or use --force", name);
		return -1;
	}
	return erase(h, name, dir, &lock, e);
}

/* Has a live supervisor take over what changed: the bits of LIVE (enum update_what). */
static int tell_supervisor(const struct home *h, const char *name, unsigned live, struct err *e)
{
	AUTO_BUF number = BUF_INIT(64), frame = BUF_INIT(128), body = BUF_INIT(4096);
	AUTO_FD fd = -1;
	int r = home_connect(h, name, "ctl", &fd);

	if (r < 0)
		return err_set(e, ERR_NOT_RUNNING, "sandbox '%s' is not running", name);
	number_encode(&number, live);
	frame_put(&frame, FRAME_UPDATE, 0, 0, number.p, number.n);
	r = fdpass_send(fd, frame.p, frame.n, NULL, 0);
	if (r == 0)
		r = wait_for(fd, FRAME_OK, clock_mono_ns() + ANSWER_WAIT_MS * NS_PER_MS, &body);
	if (r <= 0)
		return err_set(e, ERR_TIMEOUT, "the supervisor of sandbox '%s' does not answer",
			       name);
	return body.n ? err_set(e, ERR_UNSUPPORTED, "%s", buf_str(&body)) : 0;
}

/* Both files, or neither. Between the two writes nothing seems to be pending. */
static int write_both(const struct record *r, const struct spec *next, const struct spec *active,
		      const struct spec *before, struct err *e)
{
	struct err ignored;

	if (record_write_active(r->dir, active, e) < 0)
		return -1;
	if (record_write_config(r->dir, next, r->created_ns, e) == 0)
		return 0;
	IGNORE(record_write_active(r->dir, before, &ignored)); /* as it was */
	return -1;
}

int control_update(const struct home *h, const struct record *r, const struct spec *next,
		   const struct spec *active, unsigned live, struct err *e)
{
	const struct spec *before = r->has_active ? &r->active : NULL;
	AUTO_RECORD now = RECORD_NONE;
	struct err ignored;
	AUTO_FD lock = -1;

	if (record_lock_config(r->dir, &lock, e) < 0 || record_read_config(r->dir, &now, e) < 0)
		return -1;
	if (now.updated_ns != r->updated_ns)
		return err_set(e, ERR_BUSY, "sandbox '%s' was changed meanwhile; try again",
			       r->spec.name);
	if (write_both(r, next, active, before, e) < 0)
		return -1;
	if (!live || tell_supervisor(h, r->spec.name, live, e) == 0)
		return 0;
	/* as it was */
	IGNORE(write_both(r, &now.spec, before, before, &ignored));
	return -1;
}

int control_erase_home(const struct home *h, struct err *e)
{
	if (ask_supervisor(h, "--erase-home", NULL, e) < 0)
		return -1;
	return rmdir(h->path) < 0 ? err_sys(e, errno, "remove '%s'", h->path) : 0;
}
