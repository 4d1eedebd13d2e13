/*
 * The runtime in our own process. The sandboxes of this runtime are on this machine and live on
 * when the process ends.
 *
 * A session is a sandbox whose name is derived from the session id, so a later process finds the
 * sandbox. Labels of the sandbox hold the spec and the name of the backend. The sandbox ends by
 * itself after an idle time. The functions block, so they are for programs that make one call.
 *
 * The commands of a session run one at a time, because a call holds a lock on the directory of the
 * sandbox's record. The kernel releases the lock when the process of the call ends, however it
 * ends.
 */
#pragma once

#include "service/boxspec.h"
#include "service/cordon_config.h"
#include "service/outcome.h"

#define LOCAL_IDLE_SEC 300

/* How sandboxes are made. All pointers are borrowed. */
struct local_rules {
	const char *backend; /* "nsjail" or "cordon" */
	const struct cordon_config *cordon;
	/* a session in which no command runs ends after this time; 0 means never */
	uint64_t idle_sec;
	/* the host path of a mount must be in one of these directories; without any, it may be
	 * anywhere but in a system directory (client/source_rules.h) */
	const char *const *root;
	size_t n_roots;
};

/* Runs the command of the spec *B in the session of *B, and makes the session if it is missing.
 * Never starts the command a second time, even if an answer is lost. */
MUST_USE int local_exec(const struct local_rules *rules, const struct box_spec *b,
			struct outcome *ret, struct fault *f);
/* Ends a session. Fails with FAULT_SESSION_NOT_FOUND if there is no such session. */
MUST_USE int local_end(const char *session_id, struct fault *f);
/* Writes the sessions as items of an array. */
MUST_USE int local_list(struct json_writer *w, struct fault *f);
/* Ends all sessions. Sets *RET_N to the number of sessions that it ended. */
MUST_USE int local_end_all(size_t *ret_n, struct fault *f);
