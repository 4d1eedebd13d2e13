/*
 * Reads requests of the Box protocol and writes the responses. A request has a number, the name of
 * an action, the action's data, and possibly a context. A response repeats the number of the
 * request and reports success or failure. The peer is not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "service/fault.h"

#define ENVELOPE_ACTIONS_MAX 128u /* how many actions of one connection may run at the same time */

struct envelope_request {
	struct json_doc *doc; /* owned; the other members point into it */
	int64_t seq;
	/* the request's number as the peer sent it; NULL if it was missing */
	const struct json_value *given_seq;
	struct str action;
	const struct json_value *data;    /* an object */
	const struct json_value *context; /* NULL if there is none */
};

enum envelope_kind {
	/* the message is no JSON object, is a response, or has no action: it gets no answer */
	ENVELOPE_IGNORED,
	ENVELOPE_REQUEST,
	ENVELOPE_REFUSED, /* the caller answers with envelope_put_refusal() */
};

/* Reads one message. After any result but ENVELOPE_IGNORED the caller releases *RET by
 * envelope_done(). */
MUST_USE enum envelope_kind envelope_read(struct str text, struct envelope_request *ret,
					  struct fault *f);
void envelope_done(struct envelope_request *r);

/* These functions write a response. For a success, call the begin function, write one JSON
 * object (the data), and call the end function. */
void envelope_begin_success(struct json_writer *w, int64_t seq);
void envelope_end_success(struct json_writer *w);
void envelope_put_fault(struct json_writer *w, int64_t seq, const struct fault *f);
/* Writes a failure for a request whose number may be invalid. Repeats the number as it was sent.
 * Writes -1 if the number was missing, or was an array, an object or a long text. */
void envelope_put_refusal(struct json_writer *w, const struct envelope_request *r,
			  const struct fault *f);

/* Each function sets the fault for a request that is not carried out: the action is unknown, or too
 * many actions are running. Returns -1. */
int envelope_unknown_action(struct str action, struct fault *f);
int envelope_busy(struct fault *f);
