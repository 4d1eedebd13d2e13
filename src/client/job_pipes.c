/*
 * The pipes of a job. While the owner wants no output, the loop does not watch the output pipes at
 * all. To watch a pipe for no event would not be enough: the loop would still report, again and
 * again, that the other end is closed.
 */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/job_state.h"
#include "client/pipes.h"

#define CHUNK_BYTES 65536

void job_pipes_init(struct job *j)
{
	j->in = -1;
	for (unsigned i = 0; i < DRAIN_STREAMS; i++)
		j->out[i] = (struct job_pipe){ .job = j, .which = (enum job_output)i, .fd = -1 };
}

int job_pipes_open(struct job *j, bool input, int fds[3], struct err *e)
{
	struct pipes made;
	int r = pipes_open(&made, j->flags & EXEC_JOINED);

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

/* --- output ---------------------------------------------------------------------------------- */

static void close_output(struct job_pipe *o)
{
	loop_remove(o->job->loop, &o->watch);
	fd_closep(&o->fd);
}

static void read_output(struct job_pipe *o)
{
	struct job *j = o->job;
	char chunk[CHUNK_BYTES];
	ssize_t n = read(o->fd, chunk, sizeof(chunk));
	struct err e = { 0 };

	if (n > 0) {
		if (j->state == JOB_DRAINING)
			drain_read(&j->drain, o->which, (uint64_t)n, clock_mono_ns());
		job_give(j, o->which, chunk, (size_t)n);
	} else if (n == 0) {
		close_output(o);
	} else if (errno != EAGAIN && errno != EINTR) {
		err_sys(&e, errno, "read the command's output");
		job_fail(j, &e);
	}
	job_drain(j);
}

static void on_output(void *arg, int fd, uint32_t events)
{
	struct job_pipe *o = arg;
	struct job *j = o->job;

	job_enter(j);
	/* pid 1 sends STARTED before the command writes, but the loop may report the pipe before
	 * the line; in this case read STARTED first */
	if (j->owner.numbered && !j->call.id && j->line)
		line_hear(j->line);
	if (j->state != JOB_OVER && o->fd >= 0)
		read_output(o);
	job_leave(j);
}

void job_pipes_pause(struct job *j)
{
	for (unsigned i = 0; i < DRAIN_STREAMS; i++)
		loop_remove(j->loop, &j->out[i].watch);
}

/* --- input ----------------------------------------------------------------------------------- */

void job_pipes_close_input(struct job *j)
{
	loop_remove(j->loop, &j->in_watch);
	fd_closep(&j->in);
}

static void on_input(void *arg, int fd, uint32_t events)
{
	struct job *j = arg;
	bool tell = j->wants_room;

	job_enter(j);
	if (events & ~LOOP_WRITE)
		job_pipes_close_input(j); /* the command closed its input */
	else
		loop_change_fd(j->loop, j->in_watch, 0);
	j->wants_room = false;
	if (tell)
		j->owner.room(j->owner.arg);
	job_leave(j);
}

ssize_t job_pipes_feed(struct job *j, const void *p, size_t n)
{
	ssize_t k = j->in < 0 ? -1 : write(j->in, p, n);

	if (j->in < 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) {
		job_pipes_close_input(j);
		return -EPIPE;
	}
	if (k < 0)
		k = 0;
	if ((size_t)k < n && j->owner.room)
		loop_change_fd(j->loop, j->in_watch, LOOP_WRITE);
	return k;
}

bool job_pipes_watch(struct job *j)
{
	if (j->in >= 0 && !j->in_watch)
		j->in_watch = loop_add_fd(j->loop, j->in, 0, on_input, j);
	if (j->in >= 0 && !j->in_watch)
		return false;
	for (unsigned i = 0; i < DRAIN_STREAMS; i++) {
		struct job_pipe *o = &j->out[i];

		if (o->fd < 0 || o->watch)
			continue;
		o->watch = loop_add_fd(j->loop, o->fd, LOOP_READ, on_output, o);
		if (!o->watch)
			return false;
	}
	return true;
}

/* --- the end --------------------------------------------------------------------------------- */

void job_pipes_begin_drain(struct job *j)
{
	drain_begin(&j->drain, j->call.end.alone, clock_mono_ns(), pipe_held(j->out[JOB_STDOUT].fd),
		    pipe_held(j->out[JOB_STDERR].fd));
}

bool job_pipes_are_drained(struct job *j)
{
	const struct job_pipe *out = &j->out[JOB_STDOUT], *err = &j->out[JOB_STDERR];
	uint64_t now = clock_mono_ns(), silent = j->drain.last + DRAIN_SILENCE_NS;

	if ((out->fd < 0 && err->fd < 0) || !drain_hears(&j->drain, now))
		return true;
	if (!j->paused && drain_is_silent(&j->drain, now) && pipe_held(out->fd) == 0 &&
	    pipe_held(err->fd) == 0)
		return true;
	/* After drain.until we only wait for bytes that are already in the pipes. Then we need no
	 * timer, because the loop reports at once that these bytes can be read. If the job is
	 * paused, the loop does so after the owner has called job_resume(). */
	if (!j->paused && silent > now && silent < j->drain.until)
		job_set_timer(j, silent);
	else
		job_set_timer(j, j->drain.until > now ? j->drain.until : 0);
	return false;
}

/* Passes the open pipes to pid 1, so that the processes that the command left behind never
 * get SIGPIPE. */
static void hand_over(struct job *j)
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
	job_pipes_pause(j);
	for (unsigned i = 0; i < DRAIN_STREAMS; i++)
		j->out[i].fd = -1; /* the line owns the descriptors now */
	call_leave(&j->call, flags, &b);
	job_follow_up(j, &b, fds, n);
}

void job_pipes_release(struct job *j)
{
	hand_over(j);
	job_pipes_close_input(j);
	close_output(&j->out[JOB_STDOUT]);
	close_output(&j->out[JOB_STDERR]);
}
