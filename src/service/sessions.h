/*
 * The sessions of a Box server: sandboxes that are made on first use, with rules for reuse, conflicts, capacity, idle time
 * and deletion. No transport is in here: callers ask with plain structs and are answered by a callback, exactly once.
 *
 * All work on one id is done one piece after the other, in the order in which it came: execs, creations, deletions, starts
 * and stops of processes. Different ids never wait for each other.
 *
 * A session hangs on the leash of its sandbox: when the server dies in any way, the kernel closes the leash and the sandbox
 * ends. The hang-up of the connection to pid 1 says that a sandbox ended by itself; the next use makes a new one.
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

#define SESSION_TTL_SEC 300   /* of idleness, unless the server is told otherwise */
#define SESSION_REAPER_SEC 30 /* how often that is looked at, unless the idle time is shorter */

struct reply {
	/* FAULT is NULL on success. DATA is a JSON object; the callee may take its memory. Both are borrowed. */
	void (*done)(void *arg, const struct fault *fault, struct buf *data);
	void *arg;
};

/* How sandboxes are made: the configuration decides that. */
struct session_engine {
	const char *(*backend_name)(void *arg); /* as peers are told */
	/* Fills S from a BoxSpec. SHOWN is the id for a label. */
	int (*plan)(void *arg, const struct box_spec *b, const char *sandbox, const char *shown,
		    struct spec *s, struct fault *f);
	/* Adds the directories that mounts must lie in, if there are such, to Q; they are borrowed. */
	void (*list_roots)(void *arg, struct hand_request *q);
	/* A sandbox was made. HELD says how its limits are enforced (wire/leash.h). */
	void (*made)(void *arg, const char *held);
	/* A sandbox could not be made, for a reason that is not the caller's. */
	void (*failed)(void *arg);
	void *arg;
};

/* INSTANCE names the server: its first eight characters are part of the names of sandboxes. */
struct sessions *sessions_new(struct loop *loop, struct hands *hands, struct ceiling *ceiling,
			      const struct box_limits *limits, const char *instance,
			      const struct session_engine *engine);
void sessions_free(struct sessions *all);
/* Sessions end after so many seconds of idleness; 0: never. */
void sessions_set_ttl(struct sessions *all, uint64_t seconds);
uint64_t sessions_ttl_sec(const struct sessions *all);

/* --- work: the handle is valid until REPLY is called; it never is during the call ------------- */

/* B is taken. */
struct work *sessions_create(struct sessions *all, const struct tenant *t, struct box_spec *b,
			     const struct reply *r);
/* B is taken. OUTPUT_JSON_MAX bounds the bytes of JSON that each output may take; 0: no bound. */
struct work *sessions_exec(struct sessions *all, const struct tenant *t, struct box_spec *b,
			   size_t output_json_max, const struct reply *r);
struct work *sessions_delete(struct sessions *all, const struct tenant *t, const char *id,
			     struct str shown, const struct reply *r);
struct work *sessions_start_process(struct sessions *all, const struct tenant *t, const char *id,
				    struct process_spec *p, const struct reply *r); /* P is taken */
struct work *sessions_stop_process(struct sessions *all, const struct tenant *t, const char *id,
				   const char *process_id, const struct reply *r);
/* The caller is not interested any more: REPLY is not called. An exec that runs is interrupted, its session stays. */
void work_cancel(struct work *w);

/* Ends every session of the tenants that MATCHES says yes to, then calls REPLY. */
typedef bool session_filter(void *arg, const struct tenant *t, const char *id);
void sessions_drop(struct sessions *all, session_filter *matches, void *arg, const struct reply *r);
/* A throw-away sandbox that runs one command. It counts nowhere. */
struct session_trial {
	const char *id; /* one for each purpose: two trials of one id wait for each other */
	const char *command;
	const char *host_path; /* mounted at /workspace for writing; or NULL */
	unsigned seconds;
};
/* Makes the sandbox, runs the command and ends the sandbox. Fails unless the command succeeds. The data of the reply is
 * what the command printed, no JSON. */
void sessions_try(struct sessions *all, const struct session_trial *t, const struct reply *r);
/* While set, nothing new is made. */
void sessions_refuse(struct sessions *all, bool refuse);

/* --- questions, answered at once -------------------------------------------------------------- */

/* A BoxSessionInfo with its processes. */
MUST_USE int sessions_write(struct sessions *all, const struct tenant *t, const char *id,
			    struct json_writer *w, struct fault *f);
/* The infos of all sessions of a tenant, as items of an array. */
void sessions_write_all(struct sessions *all, const struct tenant *t, struct json_writer *w);
/* The number of sessions, also of those that are being made or ended, that the filter matches. */
unsigned sessions_count_if(struct sessions *all, session_filter *matches, void *arg);
MUST_USE int sessions_write_process(struct sessions *all, const struct tenant *t, const char *id,
				    const char *process_id, struct json_writer *w, struct fault *f);
struct process *sessions_find_process(struct sessions *all, const struct tenant *t, const char *id,
				      const char *process_id, struct fault *f);

struct session_counts {
	unsigned sessions, creating, closing, running_processes, completed_processes;
};
/* Of one tenant, or of the whole server. */
void sessions_count(const struct sessions *all, const struct tenant *t, struct session_counts *ret);
