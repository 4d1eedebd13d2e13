/*
 * Runs a command with pipes. We copy bytes between our ends of the command's pipes and our own
 * descriptors. pid 1 only reports the start and the end of the command.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "client/drain.h"
#include "client/outlet.h"
#include "client/pipes.h"
#include "client/run.h"

#define CHUNK_BYTES 65536

/* The command's stdout or stderr. */
struct stream {
	unsigned which; /* DRAIN_OUT or DRAIN_ERR */
	int pipe;       /* the end that we read, or -1 */
	struct outlet to;
	enum execlog_source source;
};

struct piped {
	struct run *run;
	struct stream out, err;
	int in_pipe; /* our end of the command's input, or -1 */
	char *in_chunk;
	size_t in_at, in_n; /* in_n bytes of in_chunk, from in_at on, are not written yet */
	struct drain drain;
};

/* --- output ---------------------------------------------------------------------------------- */

/* Tells p->drain that N bytes of output were read. The drain (client/drain.h) decides how long
 * we read after the command has ended, so output before the end is not counted. */
static void count(struct piped *p, const struct stream *s, size_t n)
{
	if (p->run->call.ended)
		drain_read(&p->drain, s->which, n, p->drain.alone ? 0 : clock_mono_ns());
}

/* If much output comes and none of it is logged, lets the kernel move it from pipe to pipe.
 * Returns true if something was moved. */
static bool pass_flood(struct piped *p, struct stream *s)
{
	size_t n = outlet_pass(&s->to, s->pipe);

	if (n) {
		count(p, s, n);
		tap_missed(&p->run->tap);
	}
	return n > 0;
}

/* Writes the output that waits in S. Returns true if nothing waits any more. */
static bool flush(struct piped *p, struct stream *s)
{
	return !outlet_waits(&s->to) ||
	       (run_wrote(p->run, outlet_flush(&s->to)) && !outlet_waits(&s->to));
}

/* Writes the output that waits in S. If none waits any more, copies one chunk of new output, and
 * closes the pipe at the end of the output. Returns true if the caller should try again at once. */
static bool pump_out(struct piped *p, struct stream *s)
{
	struct run *r = p->run;
	char chunk[OUTLET_CHUNK_BYTES];
	ssize_t n;

	if (!flush(p, s) || s->pipe < 0)
		return false;
	if (s->source != LOG_STDERR && tap_is_full(&r->tap) && pass_flood(p, s))
		return true;
	if (outlet_waits(&s->to))
		return false;
	n = read(s->pipe, chunk, sizeof(chunk));
	if (n > 0) {
		count(p, s, (size_t)n);
		if (!run_wrote(r, outlet_put(&s->to, chunk, (size_t)n)))
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

/* Returns the descriptor and the event that pump_out() waits for. */
static struct pollfd awaited(const struct stream *s)
{
	return outlet_waits(&s->to) ? (struct pollfd){ .fd = s->to.fd, .events = POLLOUT }
				    : (struct pollfd){ .fd = s->pipe, .events = POLLIN };
}

/* --- input ----------------------------------------------------------------------------------- */

static void pump_in(struct piped *p, bool readable)
{
	struct run *r = p->run;

	if (p->in_n == 0 && r->in_open && readable) {
		ssize_t n = inlet_read(&r->in, p->in_chunk, CHUNK_BYTES);

		if (n > 0) {
			p->in_at = 0;
			p->in_n = (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			r->in_open = false;
		}
	}
	while (p->in_n) {
		ssize_t n = write(p->in_pipe, p->in_chunk + p->in_at, p->in_n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { /* the command does not read its input any more */
			fd_closep(&p->in_pipe);
			r->in_open = false;
			p->in_n = 0;
			return;
		}
		p->in_at += (size_t)n;
		p->in_n -= (size_t)n;
	}
	if (!r->in_open)
		fd_closep(&p->in_pipe);
}

/* --- the end --------------------------------------------------------------------------------- */

static int drain(struct piped *p)
{
	struct run *r = p->run;
	struct stream *out = &p->out, *err = &p->err;
	struct drain *d = &p->drain;
	/* if the command left no background process, the drain does not use the time. Then do not
	 * read the clock, because the first reading is expensive */
	bool alone = r->call.end.alone;

	drain_begin(d, alone, alone ? 0 : clock_mono_ns(), pipe_held(out->pipe),
		    pipe_held(err->pipe));
	for (;;) {
		bool hear = drain_hears(d, alone ? 0 : clock_mono_ns());
		bool of_out = hear ? pump_out(p, out) : flush(p, out);
		bool of_err = hear ? pump_out(p, err) : flush(p, err);
		bool some = hear && (of_out || of_err);
		bool waits = hear ? outlet_waits(&out->to) || outlet_waits(&err->to)
				  : !of_out || !of_err;
		struct pollfd fds[] = { awaited(out), awaited(err) };

		if (r->result->broken_output)
			return 0;
		if (some)
			continue;
		if (!waits && (!hear || (out->pipe < 0 && err->pipe < 0) ||
			       drain_is_silent(d, alone ? 0 : clock_mono_ns())))
			return 0;
		for (unsigned i = 0; !hear && i < ARRAY_SIZE(fds); i++)
			if (fds[i].events == POLLIN)
				fds[i].fd = -1;
		if (poll(fds, 2, waits ? -1 : run_poll_ms(r, d->last + DRAIN_SILENCE_NS)) < 0 &&
		    errno != EINTR)
			return err_sys(r->e, errno, "wait for output");
	}
}

/* Gives pid 1 the read ends of pipes that are still open, so that background processes never get
 * SIGPIPE. */
static void leave(struct piped *p)
{
	struct run *r = p->run;
	AUTO_BUF b = BUF_INIT(64);
	bool joined = r->q->message.flags & EXEC_JOINED;
	unsigned flags, n;
	int fds[2];

	n = pipes_to_leave(p->out.pipe, p->err.pipe, joined, fds, &flags);
	if (n == 0)
		return;
	call_leave(&r->call, flags, &b);
	/* if this fails, the pipes are closed when we end */
	IGNORE(fdpass_send(r->c->fd, b.p, b.n, fds, n));
}

/* --- the whole ------------------------------------------------------------------------------- */

static int copy_until_end(struct piped *p)
{
	struct run *r = p->run;

	while (!r->call.ended) {
		bool hear = !tap_waits(&r->tap);
		/* read no input before the command has started. If the command cannot start, our
		 * input must stay unread, for the next program that reads the same input */
		bool want_in = r->call.id && p->in_pipe >= 0 && p->in_n == 0 && r->in_open;
		struct pollfd fds[] = {
			{ .fd = r->c->fd, .events = POLLIN },
			hear ? awaited(&p->out) : (struct pollfd){ .fd = -1 },
			hear ? awaited(&p->err) : (struct pollfd){ .fd = -1 },
			{ .fd = want_in ? r->q->in : -1, .events = POLLIN },
			{ .fd = p->in_pipe, .events = p->in_n ? POLLOUT : 0 },
		};

		if (poll(fds, ARRAY_SIZE(fds), run_poll_ms(r, 0)) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(r->e, errno, "wait for the command");
		}
		if (run_check_deadline(r, fds[0].revents) < 0)
			return -1;
		if (fds[1].revents)
			pump_out(p, &p->out);
		if (fds[2].revents)
			pump_out(p, &p->err);
		if (r->result->broken_output)
			return 0;
		if (fds[4].revents & (POLLERR | POLLHUP)) {
			fd_closep(&p->in_pipe); /* the command closed its stdin */
			p->in_n = 0;
		} else if (p->in_pipe >= 0 && (fds[3].revents || fds[4].revents)) {
			pump_in(p, fds[3].revents != 0);
		}
		if (fds[0].revents && !r->call.ended && run_hear(r) < 0)
			return -1;
	}
	fd_closep(&p->in_pipe);
	if (r->call.end.failure)
		return 0;
	if (drain(p) < 0)
		return -1;
	if (!r->result->broken_output && !r->call.end.alone)
		leave(p);
	return 0;
}

static int start(struct piped *p)
{
	struct run *r = p->run;
	const struct exec_request *q = r->q;
	bool joined = q->message.flags & EXEC_JOINED;
	struct pipes made;
	int fds[3];
	int k;

	/* if we have no input, or if it is a terminal (with `--no-tty`) or /dev/null, the command's
	 * input is empty */
	r->in_open = q->in >= 0 && !inlet_is_null(q->in) && !isatty(q->in);
	k = pipes_open(&made, joined);
	if (k < 0)
		return err_sys(r->e, -k, "make pipes");
	fds[0] = made.in[0];
	fds[1] = made.out[1];
	fds[2] = made.err[1];
	k = run_send_exec(r, r->in_open ? 0 : EXEC_PATIENT | EXEC_NO_INPUT, fds, joined ? 2 : 3);
	if (k == 0) {
		p->in_pipe = r->in_open ? fd_take(&made.in[1]) : -1;
		p->out.pipe = fd_take(&made.out[0]);
		p->err.pipe = fd_take(&made.err[0]);
	}
	pipes_done(&made);
	return k;
}

int run_piped(struct run *r)
{
	struct piped p = {
		.run = r,
		.out = { .which = DRAIN_OUT,
			 .pipe = -1,
			 .to = OUTLET_NONE,
			 .source = r->q->message.flags & EXEC_JOINED ? LOG_OUTPUT : LOG_STDOUT },
		.err = { .which = DRAIN_ERR, .pipe = -1, .to = OUTLET_NONE, .source = LOG_STDERR },
		.in_pipe = -1,
	};
	int k;

	p.out.to.fd = r->q->out;
	p.err.to.fd = r->q->err;
	k = start(&p);
	if (k == 0 && r->in_open)
		p.in_chunk = xmalloc(CHUNK_BYTES);
	if (k == 0)
		k = copy_until_end(&p);
	fd_closep(&p.in_pipe);
	fd_closep(&p.out.pipe);
	fd_closep(&p.err.pipe);
	outlet_done(&p.out.to);
	outlet_done(&p.err.to);
	free_p(&p.in_chunk);
	return k;
}
