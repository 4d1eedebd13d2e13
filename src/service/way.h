/*
 * A way is a connection to the runtime that makes the service's sandboxes. The service calls the
 * runtime through a table of functions. The runtime is in our own process (way_open_local()), or it
 * is a Box server (endpoint/way.h). The functions block until the answer is there.
 *
 * A command is sent at most once. When an answer is lost, the call fails, although the command may
 * have run.
 */
#pragma once

#include "base/json.h"
#include "service/boxspec.h"
#include "service/outcome.h"
#include "service/service_config.h"

struct way;

struct way_row {
	/* Runs the command of a spec in its session. Makes the session if it is missing. */
	int (*exec)(struct way *w, const struct box_spec *s, struct outcome *ret, struct fault *f);
	/* Writes the sessions as items of an array. */
	int (*list)(struct way *w, struct json_writer *out, struct fault *f);
	/* Ends a session. Fails with FAULT_SESSION_NOT_FOUND if there is no such session. */
	int (*end)(struct way *w, const char *session_id, struct fault *f);
	/* Ends all our sessions. Sets *RET_N to the number of sessions that it ended. */
	int (*end_all)(struct way *w, size_t *ret_n, struct fault *f);
	/* Sets *RET to the answer to the action `box_status`: an object with the member
	 * `backend`. */
	int (*status)(struct way *w, struct json_doc **ret, struct fault *f);
	/* Sets *RET to the answer to the action `box_list_skills`: an object with the array
	 * `skills`. */
	int (*skills)(struct way *w, struct json_doc **ret, struct fault *f);
	/* Closes and frees the way. Returns the signal that ended a call early, or 0. */
	int (*close)(struct way *w);
};

/* The struct of each kind of way begins with this struct, and the members of that kind follow. */
struct way {
	const struct way_row *row;
};

/* Opens the runtime in our own process. CONFIG must live as long as the way. */
struct way *way_open_local(const struct service_config *config);
