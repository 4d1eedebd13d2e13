/* Input and output of jobs that use frames on the line instead of pipes. A job uses frames in two
 * cases: its command has a terminal, or the command was running already and the job has attached to
 * it. pid 1 sends at most as many bytes as we granted. While the owner of the job has paused the
 * output (j->paused), the job keeps the bytes that arrive. */
#include <errno.h>

#include "client/job_state.h"

#define FOLLOW_UP_BYTES (FRAME_DATA_MAX_BYTES + 256) /* the largest frame except EXEC */

void job_frames_init(struct job *j)
{
	for (unsigned i = 0; i < DRAIN_STREAMS; i++)
		buf_init(&j->held[i], FRAME_CREDIT_BYTES);
}

/* Notes that we took N bytes. When enough bytes were taken, grants pid 1 new credit for all of
 * them. */
static void took(struct job *j, size_t n)
{
	AUTO_BUF b = BUF_INIT(64);

	if (call_took(&j->call, n, &b))
		job_follow_up(j, &b, NULL, 0);
}

void job_frames_take(struct job *j, const struct frame *f)
{
	enum job_output which = f->flags & FRAME_FLAG_STDERR ? JOB_STDERR : JOB_STDOUT;

	if (j->paused) {
		buf_add(&j->held[which], f->body.p, f->body.n);
		return;
	}
	took(j, f->body.n);
	job_give(j, which, f->body.p, f->body.n);
}

bool job_frames_have_room(struct job *j)
{
	return j->call.credit > 0 && j->line && line_takes_input(j->line);
}

ssize_t job_frames_feed(struct job *j, const char *p, size_t n)
{
	size_t done = 0, k;

	if (!j->line)
		return -EPIPE;
	do {
		AUTO_BUF b = BUF_INIT(FOLLOW_UP_BYTES);

		k = 0;
		if (job_frames_have_room(j))
			k = call_input(&j->call, p + done, n - done, &b);
		if (k > 0)
			job_follow_up(j, &b, NULL, 0);
		done += k;
	} while (k > 0 && done < n);
	return (ssize_t)done;
}

void job_frames_give_held(struct job *j)
{
	for (unsigned i = 0; i < DRAIN_STREAMS && !j->paused && j->state != JOB_OVER; i++) {
		struct buf held = j->held[i];

		if (held.n == 0)
			continue;
		buf_init(&j->held[i], FRAME_CREDIT_BYTES);
		took(j, held.n);
		job_give(j, (enum job_output)i, held.p, held.n);
		buf_done(&held);
	}
}

bool job_frames_are_drained(const struct job *j)
{
	return j->held[JOB_STDOUT].n == 0 && j->held[JOB_STDERR].n == 0;
}

void job_frames_release(struct job *j)
{
	buf_done(&j->held[JOB_STDOUT]);
	buf_done(&j->held[JOB_STDERR]);
}
