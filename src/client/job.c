/*
 * The states of a job. Until pid 1 reports the end, the job is in JOB_RUNNING. After that the job
 * reads the rest of the command's output by the rules of client/drain.h (JOB_DRAINING). Then the
 * job is over. If the line is lost, a running job ends. A draining job needs its line only for the
 * frame LEAVE, which gives pid 1 the pipes that background processes still hold. client/job_pipes.c
 * and client/job_frames.c move the bytes.
 */
#include "client/job.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/job_state.h"

static_assert((int)JOB_STDOUT == (int)DRAIN_OUT && (int)JOB_STDERR == (int)DRAIN_ERR,
	      "a job's outputs are those of its drain");

static bool is_framed(const struct job *j)
{
	return j->attached || j->flags & EXEC_TTY;
}

void job_enter(struct job *j)
{
	j->depth++;
}

void job_leave(struct job *j)
{
	if (--j->depth > 0 || !j->freed)
		return;
	buf_done(&j->report);
	free(j);
}

void job_follow_up(struct job *j, struct buf *b, const int *fds, unsigned n_fds)
{
	struct err ignored;

	/* ignore the result: if the connection is lost, the line calls on_gone() */
	if (j->line)
		IGNORE(line_send(j->line, LINE_FOLLOW_UP, b, fds, n_fds, &ignored));
}

void job_give(struct job *j, enum job_output which, const char *p, size_t n)
{
	bool more = j->owner.output(j->owner.arg, which, p, n);

	if (more || j->state == JOB_OVER)
		return;
	j->paused = true;
	job_pipes_pause(j);
}

/* --- the end --------------------------------------------------------------------------------- */

static void release(struct job *j)
{
	j->state = JOB_OVER;
	job_pipes_release(j);
	job_frames_release(j);
	loop_remove(j->loop, &j->timer);
	loop_remove(j->loop, &j->soon);
	if (j->line)
		line_close(j->line, j->call.stream);
	j->line = NULL;
}

void job_finish(struct job *j, const struct err *why)
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
	job_follow_up(j, &b, NULL, 0);
	line_need(j->line, 2);
}

/* Gives up a running command. Kills the command, unless the job had only attached to it. */
static void let_go(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);

	if (!j->attached) {
		kill_scope(j);
		return;
	}
	call_detach(&j->call, &b);
	job_follow_up(j, &b, NULL, 0);
}

void job_fail(struct job *j, const struct err *why)
{
	if (j->state == JOB_RUNNING)
		let_go(j);
	job_finish(j, why);
}

void job_drain(struct job *j)
{
	if (j->state == JOB_DRAINING &&
	    (is_framed(j) ? job_frames_are_drained(j) : job_pipes_are_drained(j)))
		job_finish(j, NULL);
}

static void begin_drain(struct job *j)
{
	j->state = JOB_DRAINING;
	job_set_timer(j, 0);
	job_pipes_close_input(j);
	if (j->call.end.failure) {
		job_finish(j, NULL);
		return;
	}
	job_pipes_begin_drain(j);
	if (j->owner.exited)
		j->owner.exited(j->owner.arg);
	if (j->state == JOB_DRAINING) /* otherwise the callback freed the job */
		job_drain(j);
}

/* --- the timer ------------------------------------------------------------------------------- */

static void check_deadline(struct job *j)
{
	struct err why = { 0 };

	line_hear(j->line); /* pid 1 may have answered while we got no CPU time */
	if (j->state != JOB_RUNNING)
		return;
	if (!call_is_late(&j->call, clock_mono_ns())) {
		job_set_timer(j, j->call.deadline);
		return;
	}
	j->hung = true;
	call_give_up(&j->call);
	err_set(&why, ERR_TIMEOUT, "sandbox '%s' does not answer", line_name(j->line));
	line_hang_up(j->line, &why);
	job_finish(j, NULL);
}

static void on_timer(void *arg)
{
	struct job *j = arg;

	j->timer = 0;
	job_enter(j);
	if (j->state == JOB_RUNNING)
		check_deadline(j);
	else
		job_drain(j);
	job_leave(j);
}

void job_set_timer(struct job *j, uint64_t at)
{
	loop_remove(j->loop, &j->timer);
	if (!at)
		return;
	j->timer = loop_add_timer(j->loop, at, on_timer, j);
	if (!j->timer)
		out_of_memory();
}

/* --- what pid 1 says ------------------------------------------------------------------------- */

static void take_report(struct job *j, const struct frame *f)
{
	struct err e = { 0 };

	buf_add(&j->report, f->body.p, f->body.n);
	j->reported = true;
	if (!buf_failed(&j->report))
		return;
	err_set(&e, ERR_LIMIT, "no memory for what the command reported");
	job_fail(j, &e);
}

static void tell_room(struct job *j)
{
	if (!j->wants_room || !is_framed(j) || !job_frames_have_room(j))
		return;
	j->wants_room = false;
	j->owner.room(j->owner.arg);
}

static void take_frame(struct job *j, const struct frame *f)
{
	struct err e = { 0 };

	switch (call_take(&j->call, f, &e)) {
	case CALL_OUTPUT:
		/* for a command with pipes, pid 1 must not send frames with output. We ignore such
		 * a frame. If the frames exceed the credit, we close the line */
		if (is_framed(j))
			job_frames_take(j, f);
		break;
	case CALL_ENDED:
		begin_drain(j);
		break;
	case CALL_REPORT:
		take_report(j, f);
		break;
	case -1:
		/* if pid 1 breaks the rules for one stream, we do not trust it for the other
		 * streams either */
		if (f->type != FRAME_ERROR || e.code == ERR_PROTOCOL)
			line_hang_up(j->line, &e);
		job_finish(j, &e);
		break;
	default:
		tell_room(j);
	}
}

static void on_frame(void *arg, const struct frame *f)
{
	struct job *j = arg;

	job_enter(j);
	if (j->state == JOB_RUNNING)
		take_frame(j, f);
	job_leave(j);
}

static void on_line_room(void *arg)
{
	struct job *j = arg;

	job_enter(j);
	if (j->state == JOB_RUNNING)
		tell_room(j);
	job_leave(j);
}

static void on_gone(void *arg, const struct err *why)
{
	struct job *j = arg;

	j->line = NULL;
	job_enter(j);
	if (j->state == JOB_RUNNING)
		job_finish(j, why);
	job_leave(j);
}

/* --- what the owner wants -------------------------------------------------------------------- */

ssize_t job_input(struct job *j, const void *p, size_t n)
{
	ssize_t k;

	if (j->state != JOB_RUNNING)
		return -EPIPE;
	k = is_framed(j) ? job_frames_feed(j, p, n) : job_pipes_feed(j, p, n);
	if (k >= 0 && (size_t)k < n && j->owner.room)
		j->wants_room = true;
	return k;
}

void job_input_end(struct job *j)
{
	AUTO_BUF b = BUF_INIT(64);

	if (is_framed(j) && j->state == JOB_RUNNING) {
		call_input_end(&j->call, &b);
		job_follow_up(j, &b, NULL, 0);
	}
	job_pipes_close_input(j);
	j->wants_room = false;
}

/* Does the part of job_resume() and of job_cancel() that calls the owner's callbacks. The owner may
 * call those two functions inside a callback, and we must not begin another callback there. So the
 * loop runs on_soon() later. */
static void on_soon(void *arg)
{
	struct job *j = arg;
	struct err e = { 0 };

	j->soon = 0;
	job_enter(j);
	if (j->cancelled && j->state == JOB_DRAINING)
		job_finish(j, NULL);
	else
		job_frames_give_held(j);
	if (!j->paused && j->state != JOB_OVER && !job_pipes_watch(j)) {
		err_sys(&e, errno, "watch the command's output");
		job_fail(j, &e);
	}
	job_drain(j);
	job_leave(j);
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

int job_signal(struct job *j, int sig, bool scope, struct err *e)
{
	AUTO_BUF b = BUF_INIT(64);

	if (j->state != JOB_RUNNING)
		return 0; /* a command that has ended gets no signal */
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
		job_set_timer(j, by);
	}
	kill_scope(j);
}

/* --- the job --------------------------------------------------------------------------------- */

static int send_exec(struct job *j, const struct exec_message *message, bool input, struct err *e)
{
	AUTO_BUF b = BUF_INIT(FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	struct exec_message m = *message;
	int fds[3];

	if (!is_framed(j) && job_pipes_open(j, input, fds, e) < 0)
		return -1;
	if (!input && !is_framed(j))
		m.flags |= EXEC_NO_INPUT | (j->owner.numbered ? 0 : EXEC_PATIENT);
	call_exec(&j->call, &m, m.timeout_ms ? clock_mono_ns() : 0, &b);
	return line_send(j->line, LINE_REQUEST, &b, fds,
			 is_framed(j)             ? 0
			 : j->flags & EXEC_JOINED ? 2
						  : 3,
			 e);
}

/* Makes a job with a stream of its own. Nothing is sent yet. */
static int job_new(struct line *n, const struct job_owner *o, struct job **ret, struct err *e)
{
	struct job *j = xcalloc(1, sizeof(*j));
	struct line_user u = { .frame = on_frame, .gone = on_gone, .room = on_line_room, .arg = j };
	uint32_t stream;

	j->loop = line_loop(n);
	j->owner = *o;
	job_pipes_init(j);
	job_frames_init(j);
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

/* Frees a job for which nothing was sent: pid 1 does not know of this job. Always returns -1, so
 * that the caller can return this. */
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
	if (!job_pipes_watch(j)) {
		err_sys(e, errno, "watch the command's pipes");
		job_free(j);
		return -1;
	}
	job_set_timer(j, j->call.deadline);
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

uint64_t job_number(const struct job *j)
{
	return j->call.id;
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
	job_enter(j);
	job_leave(j);
}
