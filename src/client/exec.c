/*
 * Two ways to move bytes. Piped: we hold the far ends of the command's pipes and copy between them
 * and our own descriptors; pid 1 only tells the end. Terminal: everything is frames within credits,
 * and our own terminal is raw meanwhile.
 *
 * Signals that end us need no handling of the command: our death closes the connection, and pid 1
 * kills what it ran. The handler only restores the terminal and sets the exit status.
 */
#include "client/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/io.h"
#include "client/control.h"
#include "client/outlet.h"
#include "state/record.h"

#define CHUNK_BYTES 65536
#define EARLY_MAX_BYTES (4 * CHUNK_BYTES) /* less than one, and one more of each output */
#define FRAMES_BYTES 8192                 /* read at once of what pid 1 says */
#define REQUEST_BYTES 1024 /* as much of a request needs no memory of its own: most are smaller */
#define SILENCE_NS (300 * NS_PER_MS) /* after the end: how long background children may stay mute */
#define DRAIN_NS (1000 * NS_PER_MS)  /* … and how long they may go on talking to us */
#define BACKSTOP_NS (3 * NS_PER_SEC) /* beyond --timeout: pid 1 itself does not answer */
#define STREAM 1u
/* Beyond this share of the time, log records are dropped rather than slow the command down. */
#define LOG_SHARE_DIVISOR 8
#define LOG_FREE_NS (100 * NS_PER_MS) /* as much as rotation keeps: only floods lose records */

int exec_exit_status(const struct exit_message *m)
{
	switch (m->failure) {
	case EXEC_OK:
		break;
	case EXEC_NOT_FOUND:
		return 127;
	case EXEC_DENIED:
	case EXEC_NOT_EXECUTABLE:
		return 126;
	default:
		return 1;
	}
	if (m->timed_out)
		return 124;
	return m->signal ? 128 + (int)m->signal : (int)m->code;
}

void client_adopt(struct client *c, const struct home *h, const char *name, int fd)
{
	*c = (struct client){ .home = h, .name = name, .fd = fd };
	buf_init(&c->in, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES + CHUNK_BYTES);
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

/* --- our own terminal ------------------------------------------------------------------------ */

static struct termios saved_terminal;
static volatile sig_atomic_t terminal_is_raw;

static void restore_terminal(void)
{
	if (terminal_is_raw) {
		IGNORE(tcsetattr(0, TCSADRAIN, &saved_terminal)); /* nothing left to do about it */
		terminal_is_raw = 0; /* not before: a signal would find nothing to do */
	}
}

/* Async-signal-safe: two system calls. */
static void on_fatal_signal(int sig)
{
	restore_terminal();
	_exit(128 + sig);
}

/* Of a log that grew to the caller's limit of file sizes: the error of the write is enough. */
static void on_large_file(int sig)
{
}

static void catch_signals(void)
{
	static const int ends_us[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction fatal = { .sa_handler = on_fatal_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct sigaction large = { .sa_handler = on_large_file };

	/* one that is ignored stays so: nohup, or a shell's background */
	for (size_t i = 0; i < ARRAY_SIZE(ends_us); i++)
		if (sigaction(ends_us[i], &fatal, &before) == 0 && before.sa_handler == SIG_IGN)
			sigaction(ends_us[i], &before, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &large, NULL);
}

static void make_raw(int fd)
{
	struct termios t;

	if (tcgetattr(fd, &saved_terminal) < 0)
		return;
	t = saved_terminal;
	cfmakeraw(&t);
	terminal_is_raw = 1; /* or will be: a signal may come at once */
	if (tcsetattr(fd, TCSADRAIN, &t) < 0)
		terminal_is_raw = 0;
}

/* --- the log --------------------------------------------------------------------------------- */

/* Opened at the first output; its cost is bounded to a share of the command's time. */
struct tap {
	const struct client *client;
	bool on, open, lost;
	int dir;
	struct execlog log;
	uint64_t id, start, spent;
	bool numbered;    /* id is known; until then what comes is kept: */
	struct buf early; /* a struct held each, and its bytes */
};

struct held {
	enum execlog_source source;
	size_t n;
};

/* The log has had its share: what comes now is not for it. */
static bool tap_is_full(const struct tap *t)
{
	return !t->on || (t->spent > LOG_FREE_NS &&
			  t->spent > (clock_mono_ns() - t->start) / LOG_SHARE_DIVISOR);
}

/* Whole or not at all, however much pid 1 says before it tells the number. */
static void tap_hold(struct tap *t, enum execlog_source source, const char *p, size_t n)
{
	struct held h = { source, n };

	if (!buf_room(&t->early, sizeof(h) + n)) {
		t->lost = true;
		return;
	}
	buf_add(&t->early, &h, sizeof(h));
	buf_add(&t->early, p, n);
}

static void tap_add(struct tap *t, enum execlog_source source, const char *p, size_t n)
{
	static const char marker[] = "[output lost: the log was slower than the command]\n";
	uint64_t before;

	if (!t->on)
		return;
	if (!t->numbered) {
		tap_hold(t, source, p, n);
		return;
	}
	if (tap_is_full(t)) {
		t->lost = true;
		return;
	}
	before = clock_mono_ns();
	if (!t->open) {
		AUTO_FREE char *path = xasprintf("sandboxes/%s", t->client->name);

		t->dir = openat(t->client->home->fd, path,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (t->dir < 0) {
			t->on = false;
			return;
		}
		execlog_open(&t->log, t->dir);
		t->open = true;
		t->start = before;
	}
	if (t->lost) {
		t->lost = false;
		execlog_add(&t->log, t->id, source, marker, sizeof(marker) - 1);
	}
	execlog_add(&t->log, t->id, source, p, n);
	t->spent += clock_mono_ns() - before;
}

/* More would have to be kept than a little. */
static bool tap_waits(const struct tap *t)
{
	return t->on && !t->numbered && t->early.n >= CHUNK_BYTES;
}

static void tap_number(struct tap *t, uint64_t id)
{
	AUTO_BUF early = t->early;
	struct held h;

	buf_init(&t->early, 0);
	t->id = id;
	t->numbered = true;
	for (size_t at = 0; at < early.n; at += h.n) {
		memcpy(&h, early.p + at, sizeof(h));
		at += sizeof(h);
		tap_add(t, h.source, early.p + at, h.n);
	}
}

static void tap_done(struct tap *t)
{
	if (!t->numbered)
		tap_number(t, 0); /* it was never told: records without one */
	if (t->open) {
		execlog_close(&t->log);
		fd_closep(&t->dir);
	}
}

/* --- state of one command -------------------------------------------------------------------- */

/* One of the command's outputs. */
struct stream {
	int pipe; /* where we read it, or -1 */
	struct outlet to;
	enum execlog_source source;
	uint64_t left; /* after the end: what the pipe held then and we have not had */
};

struct run {
	struct client *c;
	const struct exec_request *q;
	struct exec_result *result;
	struct err *e;
	struct tap tap;
	int in_pipe; /* where the command's stdin is fed, or -1 */
	struct stream out, err;
	bool in_open; /* our own stdin is still worth reading */
	enum { INPUT_UNSEEN, INPUT_PLAIN, INPUT_PIPE, INPUT_SOCKET } in_kind;
	int in_own; /* a second descriptor of it, or -1 */
	char *in_chunk;
	size_t in_at, in_n; /* what waits to be fed */
	bool ended;
	int output_error;        /* -errno: the output did not get through */
	const char *output_step; /* … because this failed */
	uint64_t deadline;       /* 0: none */
	uint64_t last_output;
	/* terminal */
	int winch;
	uint32_t credit;   /* bytes of input pid 1 still takes */
	uint32_t consumed; /* output written but not yet granted back */
	size_t keys_matched;
};

static int lost(struct run *r)
{
	return err_set(r->e, ERR_SYSTEM, "connection to sandbox '%s' was lost", r->c->name);
}

/* Nobody need look: a lost connection shows on the read that finds no end, after all that came before. */
static bool send_frame(struct run *r, enum frame_type type, const void *p, size_t n)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);

	frame_put(&b, type, 0, STREAM, p, n);
	return fdpass_send(r->c->fd, b.p, b.n, NULL, 0) == 0;
}

/* K is what writing to our own output gave; false when it went away. */
static bool written(struct run *r, int k)
{
	if (k == 0)
		return true;
	r->result->broken_output = true;
	r->output_error = k == -EPIPE ? 0 : k; /* a reader that left is no error, a full disk is */
	r->output_step = "write";
	return false;
}

/* --- frames from pid 1 ----------------------------------------------------------------------- */

static int on_output(struct run *r, struct str body, bool logged)
{
	AUTO_BUF b = BUF_INIT(64);

	if (body.n > FRAME_DATA_MAX_BYTES)
		return err_set(r->e, ERR_PROTOCOL, "sandbox '%s' sent an oversized frame",
			       r->c->name);
	if (!written(r, io_write_all(r->q->out, body.p, body.n)))
		return 0;
	if (!logged)
		tap_add(&r->tap, LOG_OUTPUT, body.p, body.n);
	r->consumed += (uint32_t)body.n;
	if (r->consumed < FRAME_CREDIT_BYTES / 4)
		return 0;
	number_encode(&b, r->consumed);
	r->consumed = 0;
	send_frame(r, FRAME_CREDIT, b.p, b.n);
	return 0;
}

static int on_frame(struct run *r, const struct frame *f)
{
	const char *text;
	unsigned code;
	uint64_t n;

	if (f->type == FRAME_ERROR && (f->stream == STREAM || f->stream == 0)) {
		if (error_decode(f->body, &code, &text) < 0)
			return err_set(r->e, ERR_PROTOCOL, "sandbox '%s' sent a bad answer",
				       r->c->name);
		return err_set(r->e, (enum err_code)code, "%s", text);
	}
	if (f->stream != STREAM)
		return 0;
	switch (f->type) {
	case FRAME_STARTED:
		if (started_decode(f->body, &r->result->id) == 0)
			tap_number(&r->tap, r->result->id);
		return 0;
	case FRAME_EXIT:
		if (exit_decode(f->body, &r->result->end) < 0)
			return err_set(r->e, ERR_PROTOCOL, "sandbox '%s' sent a bad status",
				       r->c->name);
		r->ended = true;
		return 0;
	case FRAME_OUTPUT:
		return on_output(r, f->body, f->flags & FRAME_FLAG_KEPT);
	case FRAME_CREDIT:
		if (number_decode(f->body, &n) == 0 && n <= FRAME_CREDIT_BYTES - r->credit)
			r->credit += (uint32_t)n;
		return 0;
	default:
		return 0;
	}
}

static int take_frame(void *arg, const struct frame *f)
{
	return on_frame(arg, f) < 0 ? 1 : 0;
}

static int read_frames(struct run *r)
{
	char chunk[FRAMES_BYTES];
	ssize_t n = recv(r->c->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	int k;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return lost(r);
	k = frame_feed(&r->c->in, chunk, (size_t)n, take_frame, r);
	if (k < 0)
		return err_set(r->e, ERR_PROTOCOL, "sandbox '%s' sent garbage", r->c->name);
	return k > 0 ? -1 : 0;
}

/* --- piped ----------------------------------------------------------------------------------- */

static void count(struct run *r, struct stream *s, size_t n)
{
	s->left -= n < s->left ? n : s->left;
	r->last_output = clock_mono_ns();
}

/* A flood that nobody logs goes from pipe to pipe. True while there was something. */
static bool pass_flood(struct run *r, struct stream *s)
{
	size_t n = outlet_pass(&s->to, s->pipe);

	if (n) {
		count(r, s, n);
		r->tap.lost = true;
	}
	return n > 0;
}

/* True when nothing waits for our output. */
static bool flush(struct run *r, struct stream *s)
{
	return !outlet_waits(&s->to) || (written(r, outlet_flush(&s->to)) && !outlet_waits(&s->to));
}

/* Copies one chunk; closes the pipe at its end. True while there was something. */
static bool pump_out(struct run *r, struct stream *s)
{
	char chunk[OUTLET_CHUNK_BYTES];
	ssize_t n;

	if (!flush(r, s) || s->pipe < 0)
		return false;
	if (s->source != LOG_STDERR && tap_is_full(&r->tap) && pass_flood(r, s))
		return true;
	if (outlet_waits(&s->to))
		return false;
	n = read(s->pipe, chunk, sizeof(chunk));
	if (n > 0) {
		count(r, s, (size_t)n);
		if (!written(r, outlet_put(&s->to, chunk, (size_t)n)))
			return false;
		tap_add(&r->tap, s->source, chunk, (size_t)n);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n == 0) {
		fd_closep(&s->pipe);
	} else if (errno != EAGAIN) {
		r->result->broken_output = true;
		r->output_error = -errno;
		r->output_step = "read";
	}
	return false;
}

/* What pump_out() waits for. */
static struct pollfd awaited(const struct stream *s)
{
	return outlet_waits(&s->to) ? (struct pollfd){ .fd = s->to.fd, .events = POLLOUT }
				    : (struct pollfd){ .fd = s->pipe, .events = POLLIN };
}

static void look_at_input(struct run *r)
{
	struct stat st;

	if (fstat(r->q->in, &st) < 0)
		return;
	r->in_kind = S_ISFIFO(st.st_mode)   ? INPUT_PIPE
		     : S_ISSOCK(st.st_mode) ? INPUT_SOCKET
					    : INPUT_PLAIN;
}

/* Never waits in a pipe: others may read it too, and be faster; our command's end is heard meanwhile. */
static ssize_t read_input(struct run *r, char *p, size_t n)
{
	ssize_t k;

	if (r->in_kind == INPUT_UNSEEN)
		look_at_input(r);
	if (r->in_kind == INPUT_SOCKET)
		return recv(r->q->in, p, n, MSG_DONTWAIT);
	if (r->in_kind == INPUT_PIPE) {
		k = sys_read_nowait(r->q->in, p, n);
		if (k >= 0 || errno != EOPNOTSUPP)
			return k;
		r->in_own = io_reopen_nowait(r->q->in, O_RDONLY); /* an old kernel */
		r->in_kind = INPUT_PLAIN;
	}
	return read(r->in_own >= 0 ? r->in_own : r->q->in, p, n);
}

static void pump_in(struct run *r, bool readable)
{
	if (r->in_n == 0 && r->in_open && readable) {
		ssize_t n = read_input(r, r->in_chunk, CHUNK_BYTES);

		if (n > 0) {
			r->in_at = 0;
			r->in_n = (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			r->in_open = false;
		}
	}
	while (r->in_n) {
		ssize_t n = write(r->in_pipe, r->in_chunk + r->in_at, r->in_n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { /* nobody reads it any more */
			fd_closep(&r->in_pipe);
			r->in_open = false;
			r->in_n = 0;
			return;
		}
		r->in_at += (size_t)n;
		r->in_n -= (size_t)n;
	}
	if (!r->in_open)
		fd_closep(&r->in_pipe);
}

static int poll_timeout(const struct run *r, uint64_t until)
{
	uint64_t at = until;

	if (r->deadline && (!at || r->deadline < at))
		at = r->deadline;
	return at ? clock_poll_ms(at) : -1;
}

static uint64_t held(int pipe_fd)
{
	int n;

	return pipe_fd >= 0 && ioctl(pipe_fd, FIONREAD, &n) == 0 ? (uint64_t)n : 0;
}

/* The end was told: what is in the pipes belongs to us, however slow our reader is; who still holds them gets a
 * short while. Of one that left nobody behind there is no more: that would be another command's, which was
 * handed them, perhaps for ever. */
static int drain(struct run *r)
{
	struct stream *out = &r->out, *err = &r->err;
	/* the first look at the clock is dear, and of one that left nobody behind none is needed */
	bool alone = r->result->end.alone;
	uint64_t now = alone ? 0 : clock_mono_ns(), end = now + DRAIN_NS;

	out->left = held(out->pipe);
	err->left = held(err->pipe);
	r->last_output = now;
	for (;;) {
		bool hear = out->left || err->left || (!alone && clock_mono_ns() < end);
		bool some = hear ? pump_out(r, out) | pump_out(r, err) : false;
		bool waits = hear ? outlet_waits(&out->to) || outlet_waits(&err->to)
				  : !flush(r, out) | !flush(r, err);
		struct pollfd p[] = { awaited(out), awaited(err) };

		if (r->result->broken_output)
			return 0;
		if (some)
			continue;
		if (!waits && (!hear || alone || (out->pipe < 0 && err->pipe < 0) ||
			       clock_mono_ns() - r->last_output >= SILENCE_NS))
			return 0; /* who is still heard of then is read on by pid 1 */
		for (unsigned i = 0; !hear && i < ARRAY_SIZE(p); i++)
			if (p[i].events == POLLIN)
				p[i].fd = -1;
		if (poll(p, 2, waits ? -1 : poll_timeout(r, r->last_output + SILENCE_NS)) < 0 &&
		    errno != EINTR)
			return err_sys(r->e, errno, "wait for output");
	}
}

/* Hands pid 1 the read ends that are not at EOF, so background children never meet SIGPIPE. */
static void leave(struct run *r)
{
	AUTO_BUF b = BUF_INIT(64);
	unsigned flags = r->q->message.flags & EXEC_JOINED ? FRAME_FLAG_JOINED : 0;
	int fds[2];
	unsigned n = 0;

	if (r->out.pipe >= 0)
		fds[n++] = r->out.pipe;
	if (r->err.pipe >= 0) {
		if (n == 0)
			flags |= FRAME_FLAG_STDERR;
		fds[n++] = r->err.pipe;
	}
	if (n == 0)
		return;
	frame_put(&b, FRAME_LEAVE, flags, (uint32_t)r->result->id, NULL, 0);
	IGNORE(fdpass_send(r->c->fd, b.p, b.n, fds,
			   n)); /* then they end with us, as they would have */
}

/* pid 1 should have ended the command by now: it hangs or is no longer ours. End the sandbox. Unless it
 * was us who got no time, and its answer is there. */
static int backstop(struct run *r, struct pollfd *answer)
{
	struct err ignored;

	if (answer->revents && read_frames(r) < 0)
		return -1;
	answer->revents = 0;
	r->deadline = 0;
	if (r->ended)
		return 0;
	IGNORE(control_stop(r->c->home, r->c->name, 0, &ignored));
	r->result->end = (struct exit_message){ .timed_out = true, .swept = true };
	r->ended = true;
	return 0;
}

static int piped(struct run *r)
{
	while (!r->ended) {
		bool hear = !tap_waits(&r->tap);
		/* input is not consumed for one that never starts (run tries twice) */
		bool want_in = r->result->id && r->in_pipe >= 0 && r->in_n == 0 && r->in_open;
		struct pollfd p[] = {
			{ .fd = r->c->fd, .events = POLLIN },
			hear ? awaited(&r->out) : (struct pollfd){ .fd = -1 },
			hear ? awaited(&r->err) : (struct pollfd){ .fd = -1 },
			{ .fd = want_in ? r->q->in : -1, .events = POLLIN },
			{ .fd = r->in_pipe, .events = r->in_n ? POLLOUT : 0 },
		};

		if (poll(p, 5, poll_timeout(r, 0)) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(r->e, errno, "wait for the command");
		}
		if (r->deadline && clock_mono_ns() >= r->deadline && backstop(r, &p[0]) < 0)
			return -1;
		if (p[1].revents)
			pump_out(r, &r->out);
		if (p[2].revents)
			pump_out(r, &r->err);
		if (r->result->broken_output)
			return 0;
		if (p[4].revents & (POLLERR | POLLHUP)) {
			fd_closep(&r->in_pipe); /* the command closed its stdin */
			r->in_n = 0;
		} else if (r->in_pipe >= 0 && (p[3].revents || p[4].revents)) {
			pump_in(r, p[3].revents != 0);
		}
		if (p[0].revents && read_frames(r) < 0)
			return -1;
	}
	fd_closep(&r->in_pipe);
	if (r->result->end.failure)
		return 0;
	if (drain(r) < 0)
		return -1;
	if (!r->result->broken_output && !r->result->end.alone)
		leave(r);
	return 0;
}

/* --- terminal -------------------------------------------------------------------------------- */

static void send_size(struct run *r)
{
	AUTO_BUF b = BUF_INIT(64);
	struct signalfd_siginfo si;
	struct winsize w;

	while (read(r->winch, &si, sizeof(si)) > 0)
		;
	if (ioctl(r->q->in, TIOCGWINSZ, &w) < 0)
		return;
	size_encode(&b, w.ws_row, w.ws_col);
	send_frame(r, FRAME_RESIZE, b.p, b.n);
}

/* Gives up the first keys that were matched, so many that the rest may still begin the sequence. */
static void release_keys(struct run *r, struct buf *out)
{
	const unsigned char *keys = r->q->detach_keys;
	size_t n = 1;

	while (memcmp(keys, keys + n, r->keys_matched - n) != 0)
		n++;
	buf_add(out, keys, n);
	r->keys_matched -= n;
}

/* Looks for the detach keys across reads; true when complete. What turns out not to be them is
 * sent like any input. */
static bool scan_keys(struct run *r, const char *p, size_t n, struct buf *out)
{
	const struct exec_request *q = r->q;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		while (r->keys_matched && c != q->detach_keys[r->keys_matched])
			release_keys(r, out);
		if (!q->n_detach_keys || c != q->detach_keys[r->keys_matched])
			buf_add_char(out, (char)c);
		else if (++r->keys_matched == q->n_detach_keys)
			return true;
	}
	return false;
}

static void read_keys(struct run *r)
{
	AUTO_BUF out = BUF_INIT(CHUNK_BYTES * 2);
	char chunk[4096];
	size_t room = r->credit - r->keys_matched; /* those may have to go as well */
	size_t want = room < sizeof(chunk) / 2 ? room : sizeof(chunk) / 2;
	ssize_t n = read_input(r, chunk, want);
	bool leaves;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (r->keys_matched)
			send_frame(r, FRAME_STDIN, r->q->detach_keys, r->keys_matched);
		r->keys_matched = 0;
		r->in_open = false;
		send_frame(r, FRAME_STDIN, NULL, 0);
		return;
	}
	leaves = scan_keys(r, chunk, (size_t)n, &out);
	r->credit -= out.n < r->credit ? (uint32_t)out.n : r->credit;
	if (out.n)
		send_frame(r, FRAME_STDIN, out.p, out.n);
	r->result->detached = leaves && send_frame(r, FRAME_DETACH, NULL, 0);
}

static int terminal_loop(struct run *r)
{
	while (!r->ended && !r->result->detached && !r->result->broken_output) {
		struct pollfd p[] = {
			{ .fd = r->c->fd, .events = POLLIN },
			{ .fd = r->in_open && r->credit > r->keys_matched ? r->q->in : -1,
			  .events = POLLIN },
			{ .fd = r->winch, .events = POLLIN },
		};

		if (poll(p, 3, poll_timeout(r, 0)) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(r->e, errno, "wait for the command");
		}
		if (r->deadline && clock_mono_ns() >= r->deadline && backstop(r, &p[0]) < 0)
			return -1;
		if (p[2].revents)
			send_size(r);
		if (p[0].revents && read_frames(r) < 0)
			return -1;
		if (!r->ended && p[1].revents)
			read_keys(r);
	}
	return 0;
}

static int terminal(struct run *r)
{
	bool is_tty = isatty(r->q->in);
	sigset_t winch;
	int k;

	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, NULL);
	r->winch = is_tty ? signalfd(-1, &winch, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
	r->credit = FRAME_CREDIT_BYTES;
	if (is_tty) {
		make_raw(r->q->in);
		send_size(r); /* whoever comes back may sit at another terminal */
	}
	k = terminal_loop(r);
	restore_terminal();
	fd_closep(&r->winch);
	return k;
}

/* --- start ----------------------------------------------------------------------------------- */

struct pipes {
	int in[2], out[2], err[2];
};

static void pipes_done(struct pipes *p)
{
	for (int i = 0; i < 2; i++) {
		fd_closep(&p->in[i]);
		fd_closep(&p->out[i]);
		fd_closep(&p->err[i]);
	}
}

static int open_pipe(int pair[2], int ours)
{
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	/* 0666: the command reopens /dev/stdout under its own ids */
	if (fchmod(pair[0], 0666) < 0)
		return -1;
	return fcntl(pair[ours], F_SETFL, O_NONBLOCK);
}

/* What goes to pid 1 in one message: begun here, filled by the caller, sent by request_send(). */
static size_t request_begin(const struct run *r, enum frame_type type, struct buf *b)
{
	if (!r->c->greeted)
		hello_encode(b);
	return frame_begin(b, type, 0, STREAM);
}

static int request_send(struct run *r, struct buf *b, size_t at, const int *fds, unsigned n_fds)
{
	int k;

	frame_end(b, at);
	if (buf_failed(b))
		return err_set(r->e, ERR_LIMIT, "the command and its environment are too long");
	k = fdpass_send(r->c->fd, b->p, b->n, fds, n_fds);
	r->c->greeted = true;
	return k < 0 ? lost(r) : 0;
}

static int send_exec(struct run *r, unsigned flags, const int *fds, unsigned n_fds)
{
	char room[REQUEST_BYTES];
	AUTO_BUF b = BUF_IN(room, FRAME_BODY_MAX_BYTES + REQUEST_BYTES);
	size_t at = request_begin(r, FRAME_EXEC, &b);
	struct exec_message m = r->q->message;

	m.flags |= flags;
	exec_encode(&b, &m);
	return request_send(r, &b, at, fds, n_fds);
}

static int send_attach(struct run *r)
{
	AUTO_BUF b = BUF_INIT(REQUEST_BYTES);
	size_t at = request_begin(r, FRAME_ATTACH, &b);

	number_encode(&b, r->q->attach_id);
	return request_send(r, &b, at, NULL, 0);
}

static bool is_dev_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == 0x103);
}

static int start_piped(struct run *r)
{
	const struct exec_request *q = r->q;
	bool joined = q->message.flags & EXEC_JOINED;
	struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int fds[3];
	int k = -1;

	/* a terminal with --no-tty and /dev/null are an immediate end of input */
	r->in_open = q->in >= 0 && !is_dev_null(q->in) && !isatty(q->in);
	if (open_pipe(p.in, 1) < 0 || open_pipe(p.out, 0) < 0 ||
	    (!joined && open_pipe(p.err, 0) < 0)) {
		err_sys(r->e, errno, "make pipes");
	} else {
		fds[0] = p.in[0];
		fds[1] = p.out[1];
		fds[2] = p.err[1];
		k = send_exec(r, r->in_open ? 0 : EXEC_PATIENT, fds, joined ? 2 : 3);
	}
	if (k == 0) {
		r->in_pipe = r->in_open ? fd_take(&p.in[1]) : -1;
		r->out.pipe = fd_take(&p.out[0]);
		r->err.pipe = fd_take(&p.err[0]);
	}
	pipes_done(&p);
	return k;
}

static void run_init(struct run *r, struct client *c, const struct exec_request *q,
		     struct exec_result *result, struct err *e)
{
	*result = (struct exec_result){ 0 };
	*r = (struct run){ .c = c,
			   .q = q,
			   .result = result,
			   .e = e,
			   .in_pipe = -1,
			   .in_own = -1,
			   .out = { .pipe = -1,
				    .to = OUTLET_NONE,
				    .source = q->message.flags & EXEC_JOINED ? LOG_OUTPUT
									     : LOG_STDOUT },
			   .err = { .pipe = -1, .to = OUTLET_NONE, .source = LOG_STDERR },
			   .winch = -1 };
	r->out.to.fd = q->out;
	r->err.to.fd = q->err;
	r->tap = (struct tap){ .client = c, .on = q->log, .early = BUF_INIT(EARLY_MAX_BYTES) };
	if (q->message.timeout_ms)
		r->deadline = clock_mono_ns() + q->message.timeout_ms * NS_PER_MS + BACKSTOP_NS;
	catch_signals();
}

static void run_done(struct run *r)
{
	fd_closep(&r->in_own);
	fd_closep(&r->in_pipe);
	fd_closep(&r->out.pipe);
	fd_closep(&r->err.pipe);
	outlet_done(&r->out.to);
	outlet_done(&r->err.to);
	free_p(&r->in_chunk);
	tap_done(&r->tap);
}

/* Detached: only the start is waited for. */
static int wait_started(struct run *r)
{
	while (!r->result->id && !r->ended) {
		struct pollfd p = { .fd = r->c->fd, .events = POLLIN };

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return err_sys(r->e, errno, "wait for the command");
		if (p.revents && read_frames(r) < 0)
			return -1;
	}
	return 0;
}

/* What our own output has to say about the whole. */
static int output_result(const struct run *r)
{
	return r->output_error
		       ? err_sys(r->e, -r->output_error, "%s the command's output", r->output_step)
		       : 0;
}

int client_exec(struct client *c, const struct exec_request *q, struct exec_result *ret,
		struct err *e)
{
	struct run r;
	int k;

	run_init(&r, c, q, ret, e);
	if (q->message.flags & (EXEC_TTY | EXEC_DETACHED)) {
		k = send_exec(&r, 0, NULL, 0);
		r.in_open = q->in >= 0;
		if (k == 0)
			k = q->message.flags & EXEC_DETACHED ? wait_started(&r) : terminal(&r);
	} else {
		k = start_piped(&r);
		if (k == 0 && r.in_open)
			r.in_chunk = xcalloc(1, CHUNK_BYTES);
		if (k == 0)
			k = piped(&r);
	}
	run_done(&r);
	return k < 0 ? k : output_result(&r);
}

int client_attach(struct client *c, const struct exec_request *q, struct exec_result *ret,
		  struct err *e)
{
	struct run r;
	int k;

	run_init(&r, c, q, ret, e);
	k = send_attach(&r);
	r.in_open = true;
	if (k == 0) {
		r.winch = -1;
		k = terminal(&r);
	}
	run_done(&r);
	return k < 0 ? k : output_result(&r);
}
