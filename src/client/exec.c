/*
 * Runs a command, or attaches to one, for the command line: one call over one connection.
 * client/piped.c and client/terminal.c have the loops around poll() that move the bytes.
 */
#include "client/exec.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "client/run.h"
#include "client/stop.h"

#define DEFAULT_ROWS 24u   /* the number of rows if a terminal does not know its size */
#define REQUEST_BYTES 1024 /* a request of this size needs no heap; most are smaller */

/* --- for both ways of moving bytes ----------------------------------------------------------- */

bool run_wrote(struct run *r, int k)
{
	if (k == 0)
		return true;
	if (k == -EIO && r->q->screen_changed) {
		/* our output is a terminal whose window was closed */
		r->result->hung_up = true;
		return false;
	}
	r->result->broken_output = true;
	/* it is no error if the reader has gone; a full disk is an error */
	r->output_error = k == -EPIPE ? 0 : k;
	r->output_step = "write";
	return false;
}

void run_replay(struct run *r)
{
	AUTO_BUF text = BUF_INIT(REPLAY_MAX_BYTES);
	struct winsize w;

	if (!r->replay.waits)
		return;
	if (ioctl(r->q->out, TIOCGWINSZ, &w) < 0 || w.ws_row == 0)
		w.ws_row = DEFAULT_ROWS;
	replay_show(&r->replay, w.ws_row, &r->screen, &text);
	replay_done(&r->replay);
	run_wrote(r, io_write_all(r->q->out, text.p, text.n));
	r->q->screen_changed(&r->screen);
}

/* Reads the message in which pid 1 says how much kept output it will send to a client that
 * attaches. */
static void take_attached(struct run *r, const struct frame *f)
{
	struct attached_message m;

	if (!r->attached || !r->q->screen_changed || attached_decode(f->body, &m) < 0)
		return;
	replay_begin(&r->replay, &m);
	if (replay_is_complete(&r->replay))
		run_replay(r);
}

static void take_output(struct run *r, const struct frame *f)
{
	AUTO_BUF b = BUF_INIT(64);
	bool is_error = f->flags & FRAME_FLAG_STDERR;
	enum execlog_source source = is_error                       ? LOG_STDERR
				     : f->flags & FRAME_FLAG_JOINED ? LOG_OUTPUT
								    : LOG_STDOUT;

	if (r->replay.waits && f->flags & FRAME_FLAG_KEPT) {
		replay_add(&r->replay, f->body.p, f->body.n);
		if (replay_is_complete(&r->replay))
			run_replay(r);
	} else {
		run_replay(r); /* does nothing if no replay waits */
		/* If the output changes modes of the terminal, tell the front end before we write
		 * the output. If a signal ends us after the write, the front end resets these
		 * modes. */
		if (r->q->screen_changed && screen_feed(&r->screen, f->body.p, f->body.n))
			r->q->screen_changed(&r->screen);
		if (!run_wrote(r, io_write_all(is_error ? r->q->err : r->q->out, f->body.p,
					       f->body.n)))
			return;
	}
	if (!(f->flags & FRAME_FLAG_KEPT))
		tap_add(&r->tap, source, f->body.p, f->body.n);
	if (call_took(&r->call, f->body.n, &b))
		client_send(r->c, &b);
}

static int take_frame(void *arg, const struct frame *f)
{
	struct run *r = arg;

	switch (call_take(&r->call, f, r->e)) {
	case CALL_STARTED:
		tap_number(&r->tap, r->call.id);
		take_attached(r, f);
		return 0;
	case CALL_OUTPUT:
		take_output(r, f);
		return 0;
	case -1:
		return 1;
	default:
		return 0;
	}
}

int run_hear(struct run *r)
{
	return client_receive(r->c, take_frame, r, r->e) ? -1 : 0;
}

int run_poll_ms(const struct run *r, uint64_t until_ns)
{
	uint64_t at = until_ns;

	if (r->call.deadline && (!at || r->call.deadline < at))
		at = r->call.deadline;
	return at ? clock_poll_ms(at) : -1;
}

int run_check_deadline(struct run *r, bool answered)
{
	struct err ignored;

	if (!r->call.deadline || !call_is_late(&r->call, clock_mono_ns()))
		return 0;
	if (answered && run_hear(r) < 0)
		return -1;
	r->call.deadline = 0;
	if (r->call.ended)
		return 0;
	IGNORE(sandbox_stop(r->c->home, r->c->name, 0, &ignored));
	call_give_up(&r->call);
	return 0;
}

int run_send_exec(struct run *r, unsigned flags, const int *fds, unsigned n_fds)
{
	char room[REQUEST_BYTES];
	AUTO_BUF b = BUF_IN(room, FRAME_BODY_MAX_BYTES + REQUEST_BYTES);
	struct exec_message m = r->q->message;

	m.flags |= flags;
	client_greet(r->c, &b);
	call_exec(&r->call, &m, m.timeout_ms ? clock_mono_ns() : 0, &b);
	return client_request(r->c, &b, fds, n_fds, r->e);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void run_init(struct run *r, struct client *c, const struct exec_request *q,
		     struct exec_result *result, struct err *e)
{
	*result = (struct exec_result){ 0 };
	*r = (struct run){ .c = c, .q = q, .result = result, .e = e, .in = INLET_OF(q->in) };
	call_init(&r->call, c->name, CLIENT_STREAM);
	tap_init(&r->tap, c->home, c->name, q->log);
}

/* Ends the run. K is the result so far. If the command's output could not be read or written, the
 * run fails too, unless the reader of our output has gone. */
static int run_done(struct run *r, int k)
{
	r->result->id = r->call.id;
	r->result->end = r->call.end;
	inlet_done(&r->in);
	replay_done(&r->replay);
	tap_done(&r->tap);
	if (k < 0 || !r->output_error)
		return k;
	return err_sys(r->e, -r->output_error, "%s the command's output", r->output_step);
}

/* For a detached command: waits only until the command has started. */
static int wait_started(struct run *r)
{
	while (!r->call.id && !r->call.ended) {
		struct pollfd p = { .fd = r->c->fd, .events = POLLIN };

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return err_sys(r->e, errno, "wait for the command");
		if (p.revents && run_hear(r) < 0)
			return -1;
	}
	return 0;
}

int client_exec(struct client *c, const struct exec_request *q, struct exec_result *ret,
		struct err *e)
{
	struct run r;
	int k;

	run_init(&r, c, q, ret, e);
	if (q->message.flags & (EXEC_TTY | EXEC_DETACHED)) {
		k = run_send_exec(&r, 0, NULL, 0);
		if (k == 0)
			k = q->message.flags & EXEC_DETACHED ? wait_started(&r) : run_terminal(&r);
	} else {
		k = run_piped(&r);
	}
	return run_done(&r, k);
}

int client_attach(struct client *c, const struct exec_request *q, struct exec_result *ret,
		  struct err *e)
{
	AUTO_BUF b = BUF_INIT(REQUEST_BYTES);
	struct run r;
	int k;

	run_init(&r, c, q, ret, e);
	r.attached = true;
	client_greet(c, &b);
	/* if the command's output goes to our terminal, we ask for all kept output, because we must
	 * show the screen. Otherwise we ask only for output that no client got before */
	call_attach(&r.call,
		    &(struct attach_message){ .id = q->attach_id, .has_offset = q->screen_changed },
		    &b);
	k = client_request(c, &b, NULL, 0, e);
	if (k == 0)
		k = run_terminal(&r);
	return run_done(&r, k);
}
