/*
 * The runtime in our own process: sandboxes on this machine that outlive the caller.
 *
 * A session is a sandbox whose name is made from the session id, so the next call finds it. Labels of the sandbox
 * store the spec and the backend that made it. The sandbox ends by itself after an idle time. The functions block, so
 * they are for programs that make one call.
 *
 * The commands of a session run one at a time: a call holds a lock on the directory of the sandbox's record. The
 * kernel releases the lock when the caller ends, however it ends.
 */
#pragma once

#include "service/boxspec.h"
#include "service/cordon_config.h"
#include "service/outcome.h"

#define LOCAL_IDLE_SEC 300

/* How sandboxes are made. Everything is borrowed. */
struct local_rules {
	const char *backend; /* "nsjail" or "cordon" */
	const struct cordon_config *cordon;
	uint64_t idle_sec;       /* a session without a command ends after this time; 0: never */
	const char *const *root; /* mounts must lie in one of these directories */
	size_t n_roots;
};

/* Runs the command of B in its session, and makes the session if it is missing. Never starts the command a second time,
 * even if an answer is lost. */
MUST_USE int local_exec(const struct local_rules *rules, const struct box_spec *b,
			struct outcome *ret, struct fault *f);
/* Ends a session. Fails with FAULT_SESSION_NOT_FOUND if there is no such session. */
MUST_USE int local_end(const char *session_id, struct fault *f);
/* Writes the sessions as items of an array. */
MUST_USE int local_list(struct json_writer *w, struct fault *f);
/* Ends all sessions. *RET_N is their number. */
MUST_USE int local_end_all(size_t *ret_n, struct fault *f);
