/*
 * The sessions of a Box server. A session is a sandbox that is made on first use. This file has the
 * rules for reuse, conflicts, capacity, idle time and deletion. The sessions do not depend on the
 * transport of requests: the calling code passes plain structs and a reply. The reply is called
 * exactly once, unless work_cancel() cancels the work.
 *
 * All work on one session id is done in the order in which it came. Each creation or deletion of a
 * session, each command, and each start or stop of a process is a piece of work. Work on one id
 * never waits for work on another id.
 *
 * A session holds the leash (wire/leash.h) of its sandbox. When the server ends, even by SIGKILL,
 * the kernel closes the leash and the sandbox ends. If a sandbox ends by itself, the connection to
 * its pid 1 closes, and the next use of the session makes a new sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "client/hands.h"
#include "loop/loop.h"
#include "service/boxspec.h"
#include "service/ceiling.h"
#include "service/fault.h"
#include "service/limits.h"
#include "service/processspec.h"
#include "service/tenant.h"

struct sessions;
struct work;

#define SESSION_TTL_SEC 300 /* default idle time after which a session ends */
/* the pause between two searches for idle sessions, unless the idle time is shorter */
#define SESSION_REAPER_SEC 30

struct reply {
	/* Called with the result. On success FAULT is NULL, and *DATA is a JSON object, or the
	 * output of a trial. On failure DATA has no meaning. FAULT and DATA are valid only during
	 * the call. `done` may move the text out of *DATA to keep it. */
	void (*done)(void *arg, const struct fault *fault, struct buf *data);
	void *arg;
};

/* How sandboxes are made, according to the configuration. */
struct session_engine {
	const char *(*backend_name)(void *arg); /* the name that peers see */
	/* Fills *S from a BoxSpec. SANDBOX is the sandbox's name. SHOWN is the session's id as
	 * peers know it, which becomes a label. */
	int (*plan)(void *arg, const struct box_spec *b, const char *sandbox, const char *shown,
		    struct spec *s, struct fault *f);
	/* The configuration may name directories in which the host paths of mounts must be. Adds
	 * these directories to *Q. Their names are borrowed. */
	void (*list_roots)(void *arg, struct hand_request *q);
	/* Called when a sandbox was made. HELD says how its limits are enforced (wire/leash.h). */
	void (*made)(void *arg, const char *held);
	/* Called when a sandbox could not be made and this was not the peer's fault. */
	void (*failed)(void *arg);
	void *arg;
};

/* INSTANCE is the server's id. Its first eight characters are part of the names of sandboxes. */
struct sessions *sessions_new(struct loop *loop, struct hands *hands, struct ceiling *ceiling,
			      const struct box_limits *limits, const char *instance,
			      const struct session_engine *engine);
void sessions_free(struct sessions *all);
/* Sets the idle time after which a session ends. 0 means never. */
void sessions_set_ttl(struct sessions *all, uint64_t seconds);
uint64_t sessions_ttl_sec(const struct sessions *all);

/* --- work ------------------------------------------------------------------------------------- */

/* The functions from sessions_create() to sessions_stop_process() queue work and return it. The
 * reply R is called once, after the function has returned. The returned work is valid until R is
 * called. */

/* Takes ownership of *B. */
struct work *sessions_create(struct sessions *all, const struct tenant *t, struct box_spec *b,
			     const struct reply *r);
/* Takes ownership of *B. OUTPUT_JSON_MAX is the largest number of bytes that stdout, and also
 * stderr, may have in the JSON of the answer. 0 means no limit. */
struct work *sessions_exec(struct sessions *all, const struct tenant *t, struct box_spec *b,
			   size_t output_json_max, const struct reply *r);
struct work *sessions_delete(struct sessions *all, const struct tenant *t, const char *id,
			     struct str shown, const struct reply *r);
struct work *sessions_start_process(struct sessions *all, const struct tenant *t, const char *id,
				    struct process_spec *p,
				    const struct reply *r); /* takes ownership of *P */
struct work *sessions_stop_process(struct sessions *all, const struct tenant *t, const char *id,
				   const char *process_id, const struct reply *r);
/* Cancels work. The reply of this work is then never called. If its command runs, the command is
 * interrupted, but the session stays. */
void work_cancel(struct work *w);

/* Ends every session for which MATCHES returns true, then calls the reply *R. */
typedef bool session_filter(void *arg, const struct tenant *t, const char *id);
void sessions_drop(struct sessions *all, session_filter *matches, void *arg, const struct reply *r);
/* A trial is a temporary sandbox that runs one command. Limits and counts of sessions do not
 * include trials. */
struct session_trial {
	/* each purpose has its own id, because trials with the same id wait for each other */
	const char *id;
	const char *command;
	/* this directory is mounted writable at /workspace; NULL means no mount */
	const char *host_path;
	unsigned seconds;
};
/* Makes the sandbox, runs the command and ends the sandbox. Fails if the command fails. The data of
 * the reply is the output of the command, not JSON. */
void sessions_try(struct sessions *all, const struct session_trial *t, const struct reply *r);
/* After a call with REFUSE true, no sandbox is made until a call with REFUSE false. */
void sessions_refuse(struct sessions *all, bool refuse);

/* --- questions, answered at once -------------------------------------------------------------- */

/* Writes a BoxSessionInfo with its processes. Returns 0, or -1 with a fault in F. */
MUST_USE int sessions_write(struct sessions *all, const struct tenant *t, const char *id,
			    struct json_writer *w, struct fault *f);
/* Writes the infos of all sessions of a tenant, as items of an array. */
void sessions_write_all(struct sessions *all, const struct tenant *t, struct json_writer *w);
/* Returns the number of sessions that the filter matches, including sessions that are being made or
 * ended. */
unsigned sessions_count_if(struct sessions *all, session_filter *matches, void *arg);
MUST_USE int sessions_write_process(struct sessions *all, const struct tenant *t, const char *id,
				    const char *process_id, struct json_writer *w, struct fault *f);
struct process *sessions_find_process(struct sessions *all, const struct tenant *t, const char *id,
				      const char *process_id, struct fault *f);

struct session_counts {
	unsigned sessions, creating, closing, running_processes, completed_processes;
};
/* Counts the sessions of one tenant, or of the whole server if T is NULL. */
void sessions_count(const struct sessions *all, const struct tenant *t, struct session_counts *ret);
