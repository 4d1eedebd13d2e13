/*
 * A client of one Box server, for a program that does one call: connects, greets the server, and sends actions one after
 * the other. An action is sent once. If its answer does not come, the call fails, and the work may go on in the server.
 */
#pragma once

#include "base/json.h"
#include "service/service_config.h"

struct endpoint;

enum endpoint_action {
	ENDPOINT_PING,
	ENDPOINT_INIT,
	ENDPOINT_STATUS,
	ENDPOINT_SESSIONS,
	ENDPOINT_EXEC,
	ENDPOINT_DELETE,
	ENDPOINT_SKILLS,
	ENDPOINT_ACTION_COUNT
};

/* Connects, pings and configures the server. C must live as long as the endpoint. If a signal comes meanwhile,
 * *RET_SIGNAL is its number. */
MUST_USE int endpoint_open(const struct runtime_config *c, struct endpoint **ret, int *ret_signal,
			   struct fault *f);
/* Does an action. DATA is a JSON object. *RET is the answer, whose data answer_data() finds. */
MUST_USE int endpoint_call(struct endpoint *e, enum endpoint_action action, struct str data,
			   struct json_doc **ret, struct fault *f);
/* Ends a server that is our child, which gets one `box_shutdown`. Any other server is only left. Returns the signal
 * that ended a call, or 0. */
int endpoint_close(struct endpoint *e);
