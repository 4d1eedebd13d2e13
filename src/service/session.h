/*
 * One session and the work that waits for the session. Only the files of service/ that handle
 * sessions include this header.
 *
 * A slot belongs to one session id of one tenant. A slot has the session, if there is one, and a
 * queue of work. The first work in the queue is active: it may wait for a hand (client/hands.h),
 * for a command or for the end of a sandbox. A slot that has neither a session nor work is freed.
 */
#pragma once

#include "client/job.h"
#include "client/leash.h"
#include "client/line.h"
#include "service/capture.h"
#include "service/process.h"
#include "service/sessions.h"

#define SLOT_BUCKETS 1024u

struct session {
	struct slot *slot;
	/* the spec with which the session was created, without its command and environment */
	struct box_spec spec;
	struct holding held; /* what the spec takes from the ceiling (service/ceiling.h) */
	char *sandbox;       /* the name of the sandbox */
	struct line *line;   /* NULL if the sandbox has ended or is being ended */
	struct leash *leash;
	bool logged;                       /* what commands print goes to the sandbox's log */
	bool gone;                         /* the leash has reported that the sandbox is gone */
	struct process *process;           /* list of managed processes, oldest first */
	uint64_t created_ns, last_used_ns; /* real time, as peers see it */
	uint64_t used_ns;                  /* last use by the monotonic clock, for the idle time */
	loop_id timer; /* when it fires, the server stops waiting for the end of the sandbox */
	bool closing;  /* peers do not see the session any more */
};

enum work_kind { WORK_CREATE, WORK_EXEC, WORK_DELETE, WORK_START, WORK_STOP, WORK_EXPIRE };

/* What the first work of a queue waits for. */
enum work_stage {
	STAGE_QUEUED,
	STAGE_CREATING, /* a hand makes the sandbox */
	STAGE_RUNNING,  /* a command runs */
	STAGE_ENDING,   /* a process is being stopped */
	STAGE_CLOSING,  /* the sandbox is being ended */
};

struct work {
	struct work *next;
	struct slot *slot;
	enum work_kind kind;
	enum work_stage stage;
	bool unwanted; /* no reply is sent: the work was cancelled, or the server queued it */
	struct reply reply;
	struct box_spec spec;
	struct process_spec process;
	struct buf shown; /* for a deletion: the session id as the peer wrote it */
	bool joins;       /* this work is a deletion that waits for an earlier deletion */
	size_t output_json_max;
	bool logged; /* the sandbox that is being made will have a log */
	/* only for work that runs a command: the members from `job` to `kill_timer` */
	struct job *job;
	struct capture out, err;
	uint64_t began_ns;
	loop_id kill_timer;
	struct hands_request *request; /* what a hand does for this work, or NULL */
	struct fault fault;            /* what the answer will report; empty for a success */
	struct buf data;
};

struct slot {
	struct slot *next; /* next slot of the same bucket */
	struct sessions *all;
	struct tenant tenant;
	char *id;
	struct session *session;
	struct work *queue;
	loop_id soon;
	/* this is a trial (sessions_try()): peers do not see it, and it does not count for
	 * limits */
	bool hidden;
};

struct sessions {
	struct loop *loop;
	struct hands *hands;
	struct ceiling *ceiling;
	const struct box_limits *limits;
	char *instance;
	struct session_engine engine;
	struct slot *bucket[SLOT_BUCKETS];
	loop_id reaper;
	uint64_t ttl_ns; /* 0 if idle sessions never end */
	bool refuse;
};

/* sessions.c, except session_is_idle() and session_touch(), which are in session.c */
struct slot *slot_get(struct sessions *all, const struct tenant *t, const char *id);
void slot_release(struct slot *s);
bool session_is_idle(const struct session *n, uint64_t now_ns);
void session_touch(struct session *n);
unsigned sessions_running_processes(const struct sessions *all);
void sessions_trim_completed(struct sessions *all);

/* session.c */
/* Makes a session for a sandbox that already runs. The session owns both descriptors. LOGGED
 * becomes the member `logged`. */
MUST_USE int session_new(struct slot *slot, const struct box_spec *b, bool logged, int leash,
			 int connection, struct err *e);
/* If the sandbox has a log, writes the output of the command number ID to the log. */
void session_log(struct session *n, uint64_t id, enum job_output which, const char *p, size_t size);
const char *session_backend_name(const struct sessions *all);
char *session_sandbox_name(const struct slot *s);
/* Ends the processes, then the sandbox. Calls slot_continue() when the sandbox is gone, or
 * when its end takes too long. */
void session_close(struct session *n);
void session_free(struct session *n);
struct process *session_find_process(const struct session *n, const char *id);
void session_forget_process(struct session *n, struct process *p);
/* The first function writes the members of a BoxSessionInfo, the second writes the whole object. */
void session_write_members(const struct session *n, struct json_writer *w);
void session_write_info(const struct session *n, struct json_writer *w);
/* Takes ownership of *SPEC. */
MUST_USE int session_start_process(struct session *n, struct process_spec *spec,
				   struct process **ret, struct err *e);

/* work.c */
/* Queues the end of the session in the slot *S. Called if the sandbox has ended or the session was
 * idle for too long. */
void sessions_expire(struct slot *s);
/* Lets the loop run the active work, for the first time or again. Must be called when the event has
 * happened for which this work waited. */
void slot_continue(struct slot *s);
/* Frees all work of a slot. Calls no reply. */
void slot_drop_work(struct slot *s);
/* Answers and frees the active work. The answer is a success if w->fault is empty. */
void work_finish(struct work *w);

/* execution.c: runs the command of the active work. The session must exist. */
void execution_begin(struct work *w);
void execution_cancel(struct work *w);
