/*
 * States: a job runs until pid 1 tells the end (JOB_RUNNING), then reads what belongs to the command
 * (JOB_DRAINING, by the rules of client/drain), then is over. A lost line ends a job that runs. A job that drains
 * needs its line only to hand pid 1 the pipes that background processes still hold (LEAVE).
 *
 * While the owner wants no output, the pipes are not watched at all: the loop reports a hang-up always, and would
 * report it again and again. Of a framed stream pid 1 sends at most the credit that it was granted; that much is
 * held until the owner wants it.
 */
#include "client/job.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/call.h"
#include "client/drain.h"
#include "client/pipes.h"

#define CHUNK_BYTES 65536
#define FOLLOW_UP_BYTES (FRAME_DATA_MAX_BYTES + 256) /* the largest frame but EXEC */

static_assert((int)JOB_STDOUT == (int)DRAIN_OUT && (int)JOB_STDERR == (int)DRAIN_ERR,
	      "a job's outputs are those of its drain");

enum job_state { JOB_RUNNING, JOB_DRAINING, JOB_OVER };

struct output {
	struct job *job;
	enum job_output which;
	int fd; /* our end of the pipe, or -1 */
	loop_id watch;
};

struct job {
	enum job_state state;
	struct line *line; /* NULL when it is gone; outlives us otherwise */
	struct loop *loop; /* borrowed */
	struct job_owner owner;
	struct call call;
	unsigned flags; /* of the EXEC */
	bool attached;  /* the command is not ours: it lives on without us */
	struct output out[DRAIN_STREAMS];
	int in;
	loop_id in_watch, timer, soon;
	bool wants_room;
	bool paused;
	struct buf held[DRAIN_STREAMS]; /* framed output that the owner did not want yet */
	struct buf report;
	bool reported;
	struct drain drain;
	bool cancelled, hung;
	unsigned depth; /* callbacks that are running */
	bool freed;
};

static bool is_framed(const struct job *j)
{
	return j->attached || j->flags & EXEC_TTY;
}

static bool holds_output(const struct job *j)
{
	return j->held[JOB_STDOUT].n > 0 || j->held[JOB_STDERR].n > 0;
}

static void enter(struct job *j)
{
	j->depth++;
}

static void leave(struct job *j)
{
	if (--j->depth > 0 || !j->freed)
		return;
	buf_done(&j->report);
	free(j);
}

/* --- letting go ------------------------------------------------------------------------------ */

/* A failure needs no care: if the line is lost, its hang-up comes. */
static void follow_up(struct job *j, struct buf *b, const int *fds, unsigned n_fds)
{
	struct err ignored;

	if (j->line)
		IGNORE(line_send(j->line, LINE_FOLLOW_UP, b, fds, n_fds, &ignored));
}

static void close_input(struct job *j)
{
	loop_remove(j->loop, &j->in_watch);
	fd_closep(&j->in);
}

static void close_output(struct output *o)
{
	loop_remove(o->job->loop, &o->watch);
	fd_closep(&o->fd);
}

/* Hands pid 1 the pipes that background processes still hold, so that these never meet SIGPIPE. */
static void hand_over_pipes(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);
	unsigned flags, n;
	int fds[2];

	if (!j->line || !j->call.ended || j->call.end.failure || j->call.end.alone || j->hung)
		return;
	n = pipes_to_leave(j->out[JOB_STDOUT].fd, j->out[JOB_STDERR].fd, j->flags & EXEC_JOINED,
			   fds, &flags);
	if (n == 0)
		return;
	for (unsigned i = 0; i < DRAIN_STREAMS; i++) {
		loop_remove(j->loop, &j->out[i].watch);
		j->out[i].fd = -1; /* the line takes them */
	}
	call_leave(&j->call, flags, &b);
	follow_up(j, &b, fds, n);
}

static void release(struct job *j)
{
	j->state = JOB_OVER;
	hand_over_pipes(j);
	close_input(j);
	close_output(&j->out[JOB_STDOUT]);
	close_output(&j->out[JOB_STDERR]);
	loop_remove(j->loop, &j->timer);
	loop_remove(j->loop, &j->soon);
	buf_done(&j->held[JOB_STDOUT]);
	buf_done(&j->held[JOB_STDERR]);
	if (j->line)
		line_close(j->line, j->call.stream);
	j->line = NULL;
}

/* WHY: the end is not known. */
static void finish(struct job *j, const struct err *why)
{
	struct job_end end = { .err = why,
			       .end = j->call.end,
			       .id = j->call.id,
			       .cancelled = j->cancelled,
			       .hung = j->hung };

	if (j->state == JOB_OVER)
		return;
	if (j->reported)
		end.report = (struct str){ buf_str(&j->report), j->report.n };
	release(j);
	j->owner.end(j->owner.arg, &end);
	buf_done(&j->report);
}

static void kill_scope(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);

	if (!j->line)
		return;
	call_signal(&j->call, SIGKILL, true, &b);
	follow_up(j, &b, NULL, 0);
	line_need(j->line, 2);
}

/* Leaves a command that runs: it must not go on without us, unless it did so before. */
static void let_go(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);

	if (!j->attached) {
		kill_scope(j);
		return;
	}
	call_detach(&j->call, &b);
	follow_up(j, &b, NULL, 0);
}

static void fail(struct job *j, const struct err *why)
{
	if (j->state == JOB_RUNNING)
		let_go(j);
	finish(j, why);
}

/* --- output ---------------------------------------------------------------------------------- */

static void on_output(void *arg, int fd, uint32_t events);

static void pause_output(struct job *j)
{
	j->paused = true;
	for (unsigned i = 0; i < DRAIN_STREAMS; i++)
		loop_remove(j->loop, &j->out[i].watch);
}

static bool watch_output(struct job *j)
{
	for (unsigned i = 0; i < DRAIN_STREAMS; i++) {
		struct output *o = &j->out[i];

		if (o->fd < 0 || o->watch)
			continue;
		o->watch = loop_add_fd(j->loop, o->fd, LOOP_READ, on_output, o);
		if (!o->watch)
			return false;
	}
	return true;
}

/* The owner may have freed the job or anything else when this returns. */
static void give(struct job *j, enum job_output which, const char *p, size_t n)
{
	bool more = j->owner.output(j->owner.arg, which, p, n);

	if (!more && j->state != JOB_OVER)
		pause_output(j);
}

/* --- the end --------------------------------------------------------------------------------- */

static void on_timer(void *arg);

/* One timer does for all: what it is for follows from the state. 0: none. */
static void set_timer(struct job *j, uint64_t at)
{
	loop_remove(j->loop, &j->timer);
	if (!at)
		return;
	j->timer = loop_add_timer(j->loop, at, on_timer, j);
	if (!j->timer)
		out_of_memory();
}

static bool is_drained(const struct job *j, uint64_t now)
{
	const struct output *out = &j->out[JOB_STDOUT], *err = &j->out[JOB_STDERR];

	if (is_framed(j))
		return !holds_output(j);
	if ((out->fd < 0 && err->fd < 0) || !drain_hears(&j->drain, now))
		return true;
	return !j->paused && drain_is_silent(&j->drain, now) && pipe_held(out->fd) == 0 &&
	       pipe_held(err->fd) == 0;
}

static void drain_on(struct job *j)
{
	uint64_t now = clock_mono_ns();
	uint64_t silent = j->drain.last + DRAIN_SILENCE_NS;

	if (is_drained(j, now)) {
		finish(j, NULL);
		return;
	}
	/* beyond both, either output or job_resume() wakes us */
	if (is_framed(j))
		set_timer(j, 0);
	else if (!j->paused && silent > now && silent < j->drain.until)
		set_timer(j, silent);
	else
		set_timer(j, j->drain.until > now ? j->drain.until : 0);
}

static void begin_drain(struct job *j)
{
	j->state = JOB_DRAINING;
	close_input(j);
	if (j->call.end.failure) {
		finish(j, NULL);
		return;
	}
	drain_begin(&j->drain, j->call.end.alone, clock_mono_ns(), pipe_held(j->out[JOB_STDOUT].fd),
		    pipe_held(j->out[JOB_STDERR].fd));
	drain_on(j);
}

static void read_output(struct output *o)
{
	struct job *j = o->job;
	char chunk[CHUNK_BYTES];
	ssize_t n = read(o->fd, chunk, sizeof(chunk));
	struct err e = { 0 };

	if (n > 0) {
		if (j->state == JOB_DRAINING)
			drain_read(&j->drain, o->which, (uint64_t)n, clock_mono_ns());
		give(j, o->which, chunk, (size_t)n);
	} else if (n == 0) {
		close_output(o);
	} else if (errno != EAGAIN && errno != EINTR) {
		err_sys(&e, errno, "read the command's output");
		fail(j, &e);
	}
	if (j->state == JOB_DRAINING)
		drain_on(j);
}

static void on_output(void *arg, int fd, uint32_t events)
{
	struct output *o = arg;
	struct job *j = o->job;

	enter(j);
	read_output(o);
	leave(j);
}

static void check_deadline(struct job *j)
{
	struct err why = { 0 };

	line_hear(j->line); /* the answer may have come while we got no time */
	if (j->state != JOB_RUNNING)
		return;
	if (!call_is_late(&j->call, clock_mono_ns())) {
		set_timer(j, j->call.deadline);
		return;
	}
	j->hung = true;
	call_give_up(&j->call);
	err_set(&why, ERR_TIMEOUT, "sandbox '%s' does not answer", line_name(j->line));
	line_hang_up(j->line, &why);
	finish(j, NULL);
}

static void on_timer(void *arg)
{
	struct job *j = arg;

	j->timer = 0;
	enter(j);
	if (j->state == JOB_RUNNING)
		check_deadline(j);
	else
		drain_on(j);
	leave(j);
}

/* --- what pid 1 says ------------------------------------------------------------------------- */

/* The owner has disposed of N bytes of a framed stream. */
static void took(struct job *j, size_t n)
{
	AUTO_BUF b = BUF_INIT(64);

	if (call_took(&j->call, n, &b))
		follow_up(j, &b, NULL, 0);
}

static void take_output(struct job *j, const struct frame *f)
{
	enum job_output which = f->flags & FRAME_FLAG_STDERR ? JOB_STDERR : JOB_STDOUT;

	if (!is_framed(j))
		return; /* pid 1 has nothing to say here; beyond its credit that ends the line */
	if (j->paused) {
		buf_add(&j->held[which], f->body.p, f->body.n);
		return;
	}
	took(j, f->body.n);
	give(j, which, f->body.p, f->body.n);
}

static void take_report(struct job *j, const struct frame *f)
{
	struct err e = { 0 };

	buf_add(&j->report, f->body.p, f->body.n);
	j->reported = true;
	if (!buf_failed(&j->report))
		return;
	err_set(&e, ERR_LIMIT, "no memory for what the command reported");
	fail(j, &e);
}

static void take_frame(struct job *j, const struct frame *f)
{
	struct err e = { 0 };

	switch (call_take(&j->call, f, &e)) {
	case CALL_OUTPUT:
		take_output(j, f);
		break;
	case CALL_ENDED:
		begin_drain(j);
		break;
	case CALL_REPORT:
		take_report(j, f);
		break;
	case -1:
		/* a pid 1 that breaks the rules for one stream is not trusted with the others */
		if (f->type != FRAME_ERROR || e.code == ERR_PROTOCOL)
			line_hang_up(j->line, &e);
		finish(j, &e);
		break;
	default:
		if (j->wants_room && is_framed(j) && j->call.credit > 0) {
			j->wants_room = false;
			j->owner.room(j->owner.arg);
		}
	}
}

static void on_frame(void *arg, const struct frame *f)
{
	struct job *j = arg;

	enter(j);
	if (j->state == JOB_RUNNING)
		take_frame(j, f);
	leave(j);
}

static void on_gone(void *arg, const struct err *why)
{
	struct job *j = arg;

	j->line = NULL;
	enter(j);
	if (j->state == JOB_RUNNING)
		finish(j, why);
	leave(j);
}

/* --- input ----------------------------------------------------------------------------------- */

static void on_input(void *arg, int fd, uint32_t events)
{
	struct job *j = arg;
	bool tell = j->wants_room;

	enter(j);
	if (events & ~LOOP_WRITE)
		close_input(j); /* the command closed its input */
	else
		loop_change_fd(j->loop, j->in_watch, 0);
	j->wants_room = false;
	if (tell)
		j->owner.room(j->owner.arg);
	leave(j);
}

static ssize_t feed_pipe(struct job *j, const void *p, size_t n)
{
	ssize_t k = write(j->in, p, n);

	if (k < 0 && errno != EAGAIN && errno != EINTR) {
		close_input(j);
		return -EPIPE;
	}
	return k < 0 ? 0 : k;
}

static ssize_t feed_frames(struct job *j, const char *p, size_t n)
{
	size_t done = 0, k;

	do {
		AUTO_BUF b = BUF_INIT(FOLLOW_UP_BYTES);

		k = call_input(&j->call, p + done, n - done, &b);
		if (k > 0)
			follow_up(j, &b, NULL, 0);
		done += k;
	} while (k > 0 && done < n);
	return (ssize_t)done;
}

ssize_t job_input(struct job *j, const void *p, size_t n)
{
	ssize_t k;

	if (j->state != JOB_RUNNING || (is_framed(j) ? !j->line : j->in < 0))
		return -EPIPE;
	if (n == 0)
		return 0;
	k = is_framed(j) ? feed_frames(j, p, n) : feed_pipe(j, p, n);
	if (k < 0 || (size_t)k == n || !j->owner.room)
		return k;
	j->wants_room = true;
	loop_change_fd(j->loop, j->in_watch, LOOP_WRITE);
	return k;
}

void job_input_end(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);

	if (is_framed(j) && j->state == JOB_RUNNING) {
		call_input_end(&j->call, &b);
		follow_up(j, &b, NULL, 0);
	}
	close_input(j);
	j->wants_room = false;
}

/* --- what the owner wants -------------------------------------------------------------------- */

static void give_held(struct job *j)
{
	for (unsigned i = 0; i < DRAIN_STREAMS && !j->paused && j->state != JOB_OVER; i++) {
		struct buf held = j->held[i];

		if (held.n == 0)
			continue;
		buf_init(&j->held[i], FRAME_CREDIT_BYTES);
		took(j, held.n);
		give(j, (enum job_output)i, held.p, held.n);
		buf_done(&held);
	}
}

/* Later, from the loop: the owner called us, maybe from a callback. */
static void on_soon(void *arg)
{
	struct job *j = arg;
	struct err e = { 0 };

	j->soon = 0;
	enter(j);
	if (j->cancelled && j->state == JOB_DRAINING) {
		finish(j, NULL);
	} else {
		give_held(j);
	}
	if (!j->paused && j->state != JOB_OVER && !watch_output(j)) {
		err_sys(&e, errno, "watch the command's output");
		fail(j, &e);
	}
	if (j->state == JOB_DRAINING)
		drain_on(j);
	leave(j);
}

static void do_soon(struct job *j)
{
	if (!j->soon)
		j->soon = loop_add_timer(j->loop, clock_mono_ns(), on_soon, j);
	if (!j->soon)
		out_of_memory();
}

void job_resume(struct job *j)
{
	if (!j->paused || j->state == JOB_OVER)
		return;
	j->paused = false;
	do_soon(j);
}

void job_resize(struct job *j, uint32_t rows, uint32_t cols)
{
	AUTO_BUF b = BUF_INIT(64);

	if (!is_framed(j) || j->state != JOB_RUNNING)
		return;
	call_resize(&j->call, rows, cols, &b);
	follow_up(j, &b, NULL, 0);
}

int job_signal(struct job *j, int sig, bool scope, struct err *e)
{
	AUTO_BUF b = BUF_INIT(64);

	if (j->state != JOB_RUNNING)
		return 0; /* a command that has ended gets none */
	if (line_version(j->line) == 1)
		return err_set(
			e, ERR_UNSUPPORTED,
			"sandbox '%s' was started by an older version, which takes no signals",
			line_name(j->line));
	call_signal(&j->call, sig, scope, &b);
	return line_send(j->line, LINE_REQUEST, &b, NULL, 0, e);
}

void job_cancel(struct job *j)
{
	uint64_t by;

	if (j->cancelled || j->state == JOB_OVER)
		return;
	j->cancelled = true;
	if (j->state == JOB_DRAINING) {
		do_soon(j);
		return;
	}
	by = clock_mono_ns() + CALL_BACKSTOP_NS;
	if (!j->call.deadline || by < j->call.deadline) {
		j->call.deadline = by;
		set_timer(j, by);
	}
	kill_scope(j);
}

/* --- the job --------------------------------------------------------------------------------- */

/* Gives the job its ends of the pipes and FDS the command's. */
static int open_ends(struct job *j, bool input, int fds[3], struct err *e)
{
	struct pipes made;
	int r;

	if (is_framed(j))
		return 0;
	r = pipes_open(&made, j->flags & EXEC_JOINED);
	if (r < 0)
		return err_sys(e, -r, "make pipes");
	j->in = input ? fd_take(&made.in[1]) : -1;
	j->out[JOB_STDOUT].fd = fd_take(&made.out[0]);
	j->out[JOB_STDERR].fd = fd_take(&made.err[0]);
	fds[0] = fd_take(&made.in[0]);
	fds[1] = fd_take(&made.out[1]);
	fds[2] = fd_take(&made.err[1]);
	pipes_done(&made);
	return 0;
}

static int send_exec(struct job *j, const struct exec_message *message, bool input, struct err *e)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	struct exec_message m = *message;
	int fds[3];

	if (open_ends(j, input, fds, e) < 0)
		return -1;
	if (!input && !is_framed(j))
		m.flags |= EXEC_PATIENT;
	call_exec(&j->call, &m, m.timeout_ms ? clock_mono_ns() : 0, &b);
	return line_send(j->line, LINE_REQUEST, &b, fds,
			 is_framed(j)             ? 0
			 : j->flags & EXEC_JOINED ? 2
						  : 3,
			 e);
}

static int watch_all(struct job *j, struct err *e)
{
	if (j->in >= 0)
		j->in_watch = loop_add_fd(j->loop, j->in, 0, on_input, j);
	if ((j->in >= 0 && !j->in_watch) || !watch_output(j))
		return err_sys(e, errno, "watch the command's pipes");
	return 0;
}

/* A job with a stream of its own, and nothing sent yet. */
static int job_new(struct line *n, const struct job_owner *o, struct job **ret, struct err *e)
{
	struct job *j = xcalloc(1, sizeof(*j));
	struct line_user u = { .frame = on_frame, .gone = on_gone, .arg = j };
	uint32_t stream;

	j->loop = line_loop(n);
	j->owner = *o;
	j->in = -1;
	for (unsigned i = 0; i < DRAIN_STREAMS; i++) {
		j->out[i] = (struct output){ .job = j, .which = (enum job_output)i, .fd = -1 };
		buf_init(&j->held[i], FRAME_CREDIT_BYTES);
	}
	buf_init(&j->report, REPORT_MAX_BYTES);
	if (line_open(n, &u, &stream, e) < 0) {
		free(j);
		return -1;
	}
	j->line = n;
	call_init(&j->call, line_name(n), stream);
	*ret = j;
	return 0;
}

/* Nothing was sent: nobody need be told. */
static int job_unmake(struct job *j)
{
	release(j);
	free(j);
	return -1;
}

int job_start(struct line *n, const struct exec_message *m, bool input, const struct job_owner *o,
	      struct job **ret, struct err *e)
{
	struct job *j;

	assert(!(m->flags & (EXEC_DETACHED | EXEC_BACKGROUND)));
	if (job_new(n, o, &j, e) < 0)
		return -1;
	j->flags = m->flags;
	if (send_exec(j, m, input, e) < 0)
		return job_unmake(j);
	if (watch_all(j, e) < 0) {
		job_free(j);
		return -1;
	}
	set_timer(j, j->call.deadline);
	*ret = j;
	return 0;
}

int job_attach(struct line *n, const struct attach_message *m, const struct job_owner *o,
	       struct job **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(256);
	struct job *j;

	if (job_new(n, o, &j, e) < 0)
		return -1;
	j->attached = true;
	call_attach(&j->call, m, &b);
	if (line_ask(n, 2, &b, e) < 0)
		return job_unmake(j);
	*ret = j;
	return 0;
}

void job_free(struct job *j)
{
	if (!j || j->freed)
		return;
	if (j->state == JOB_RUNNING)
		let_go(j);
	if (j->state != JOB_OVER)
		release(j);
	j->freed = true;
	enter(j);
	leave(j);
}
