/*
 * A way to a runtime: a table of what the service asks of the runtime that makes its sandboxes. The runtime is in our
 * own process (way_open_local()), or it is a Box server (endpoint/way.h). Calls wait for their answers.
 *
 * A command is sent at most once. When an answer is lost, the call fails: the command may have run.
 */
#pragma once

#include "base/json.h"
#include "service/boxspec.h"
#include "service/outcome.h"
#include "service/service_config.h"

struct way;

struct way_row {
	/* Runs the command of a spec in its session, which is made if it is missing. */
	int (*exec)(struct way *w, const struct box_spec *s, struct outcome *ret, struct fault *f);
	/* Writes the sessions as items of an array. */
	int (*list)(struct way *w, struct json_writer *out, struct fault *f);
	/* Ends a session. FAULT_SESSION_NOT_FOUND if there is none. */
	int (*end)(struct way *w, const char *session_id, struct fault *f);
	/* Ends all sessions of ours. *RET_N is their number. */
	int (*end_all)(struct way *w, size_t *ret_n, struct fault *f);
	/* Gives what `box_status` answers, an object with the member `backend`. */
	int (*status)(struct way *w, struct json_doc **ret, struct fault *f);
	/* Gives what `box_list_skills` answers, an object with the array `skills`. */
	int (*skills)(struct way *w, struct json_doc **ret, struct fault *f);
	/* Returns the signal that ended the way early, or 0. */
	int (*close)(struct way *w);
};

/* The first member of every way. */
struct way {
	const struct way_row *row;
};

/* Opens the runtime in our own process. CONFIG must live as long as the way. */
struct way *way_open_local(const struct service_config *config);
