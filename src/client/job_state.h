/* The state of a job. Only client/job.c, client/job_pipes.c and client/job_frames.c use this
 * header. */
#pragma once

#include "base/buf.h"
#include "client/call.h"
#include "client/drain.h"
#include "client/job.h"

enum job_state { JOB_RUNNING, JOB_DRAINING, JOB_OVER };

struct job_pipe {
	struct job *job;
	enum job_output which;
	int fd; /* our end of the pipe, or -1 */
	loop_id watch;
};

struct job {
	enum job_state state;
	struct line *line; /* NULL when the line is gone; an open line outlives the job */
	struct loop *loop; /* borrowed */
	struct job_owner owner;
	struct call call;
	unsigned flags; /* the flags of the frame EXEC */
	bool attached;  /* the job attached to the command, which lives on without the job */
	bool wants_room;
	bool paused; /* the owner wants no output for now */
	/* for a command with pipes: */
	struct job_pipe out[DRAIN_STREAMS];
	int in; /* our end of the command's input, or -1 */
	loop_id in_watch;
	struct drain drain;
	/* for a command whose input and output go through frames: */
	struct buf held[DRAIN_STREAMS]; /* output that came while the job was paused */

	struct buf report;
	bool reported;
	loop_id timer, soon;
	bool cancelled, hung;
	unsigned depth; /* how many callbacks are running */
	bool freed;
};

/* --- job.c ----------------------------------------------------------------------------------- */

/* Every callback of the loop or the line begins with job_enter() and ends with job_leave(). If a
 * callback frees the job, the last job_leave() frees its memory. */
void job_enter(struct job *j);
void job_leave(struct job *j);
/* Sends further frames of the job, after its request. */
void job_follow_up(struct job *j, struct buf *b, const int *fds, unsigned n_fds);
/* Gives the owner output. When this function returns, the owner may have freed or paused the
 * job. */
void job_give(struct job *j, enum job_output which, const char *p, size_t n);
/* Sets the only timer of the job. The state of the job says what the timer is for. If AT is 0,
 * there is no timer. */
void job_set_timer(struct job *j, uint64_t at);
/* Tells the owner the end. WHY is NULL if the end is known. Otherwise WHY says why the end is
 * not known. */
void job_finish(struct job *j, const struct err *why);
/* Call this if something on our side failed. Kills a running command, because nobody would read its
 * output. If the job had only attached to the command, detaches instead. Then finishes the job. */
void job_fail(struct job *j, const struct err *why);
/* Call this after pid 1 has reported the command's end. Finishes the job if everything was read. */
void job_drain(struct job *j);

/* --- job_pipes.c ------------------------------------------------------------------------------ */

void job_pipes_init(struct job *j);
/* Makes the pipes. Writes the descriptors of the command's ends to FDS. */
MUST_USE int job_pipes_open(struct job *j, bool input, int fds[3], struct err *e);
/* Watches those of our ends that are not watched yet. If this fails, returns false and sets
 * errno. */
MUST_USE bool job_pipes_watch(struct job *j);
void job_pipes_pause(struct job *j);
/* Does the work of job_input() for a command with pipes. */
ssize_t job_pipes_feed(struct job *j, const void *p, size_t n);
void job_pipes_close_input(struct job *j);
/* Begins to drain the pipes (client/drain.h). Call this after pid 1 has reported the command's
 * end. */
void job_pipes_begin_drain(struct job *j);
/* Returns true if nothing is left to read. Otherwise sets the timer after which the job checks
 * again. */
bool job_pipes_are_drained(struct job *j);
/* Gives pid 1 the pipes that background processes still hold, and closes the other pipes. */
void job_pipes_release(struct job *j);

/* --- job_frames.c ----------------------------------------------------------------------------- */

void job_frames_init(struct job *j);
void job_frames_take(struct job *j, const struct frame *f);
/* Returns true if job_frames_feed() would take input: pid 1 has granted credit, and the queue of
 * the line has room. */
bool job_frames_have_room(struct job *j);
ssize_t job_frames_feed(struct job *j, const char *p, size_t n);
/* Gives the owner the output that came while the job was paused. */
void job_frames_give_held(struct job *j);
bool job_frames_are_drained(const struct job *j);
void job_frames_release(struct job *j);
