/*
 * A client of one Box server, for a program that makes one call and then ends. The client connects,
 * greets the server and sends actions, each action only once. If the answer to an action does not
 * come, the call fails, although the server may still do the work.
 *
 * A fault has `again` set if the connection was refused or lost, and the server has got only
 * actions that run nothing and end nothing. In this case the caller may open a new endpoint and
 * send the same actions again. As soon as one byte of an action that runs or ends something was
 * sent, no later fault of the endpoint has `again` set.
 */
#pragma once

#include "base/json.h"
#include "endpoint/interrupt.h"
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

/* Connects, then pings and configures the server. Fails if this is not done by the time UNTIL_NS
 * (clock_mono_ns()). C and INTERRUPTS must live as long as the endpoint. After a failure,
 * *RET_SIGNAL is the signal that came meanwhile, or 0. */
MUST_USE int endpoint_open(const struct runtime_config *c, const struct interrupts *interrupts,
			   uint64_t until_ns, struct endpoint **ret, int *ret_signal,
			   struct fault *f);
/* Does an action. DATA is a JSON object. *RET is the whole answer. answer_data() finds the data
 * in it. */
MUST_USE int endpoint_call(struct endpoint *e, enum endpoint_action action, struct str data,
			   struct json_doc **ret, struct fault *f);
/* Closes the connection. If the server is our child, sends `box_shutdown` and ends the child.
 * Returns the signal that ended a call or that has come since, or 0. */
int endpoint_close(struct endpoint *e);
