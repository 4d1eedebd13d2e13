/*
 * A client of one Box server, for a program that makes one call. The client connects, greets the server and sends
 * actions, each once. If the answer to an action does not come, the call fails, but the server may still do the work.
 *
 * A fault has `again` set if the connection was refused or lost and the server has got nothing but actions that change
 * nothing. The caller may then do the same with a new endpoint. As soon as a byte of an action that changes something
 * has been sent, no fault of the endpoint has `again` set.
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

/* Connects, then pings and configures the server, until the time UNTIL_NS (clock_mono_ns()) at the latest. C must live
 * as long as the endpoint. After a failure, *RET_SIGNAL is the signal that came
 * meanwhile, or 0. */
MUST_USE int endpoint_open(const struct runtime_config *c, uint64_t until_ns, struct endpoint **ret,
			   int *ret_signal, struct fault *f);
/* Does an action. DATA is a JSON object. *RET is the whole answer. answer_data() returns its data. */
MUST_USE int endpoint_call(struct endpoint *e, enum endpoint_action action, struct str data,
			   struct json_doc **ret, struct fault *f);
/* Closes the connection. If the server is our child, sends `box_shutdown` and ends the child. Returns the signal that
 * ended a call, or 0. */
int endpoint_close(struct endpoint *e);
