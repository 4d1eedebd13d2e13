/*
 * The envelope of Box actions: a request names an action, its data and its context; a response repeats
 * the request's number and says success or failure. Pure state; the peer is not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "service/fault.h"

#define ENVELOPE_ACTIONS_MAX 128u /* in flight on one connection */

struct envelope_request {
	struct json_doc *doc; /* owned: all that follows points into it */
	int64_t seq;
	const struct json_value *given_seq; /* as sent; NULL if it was missing */
	struct str action;
	const struct json_value *data;    /* an object */
	const struct json_value *context; /* or NULL */
};

enum envelope_kind {
	ENVELOPE_IGNORED, /* no request: not JSON, not an object, or a response */
	ENVELOPE_REQUEST,
	ENVELOPE_REFUSED, /* answer it by envelope_put_refusal() */
};

/* Reads one message. *RET must be released by envelope_done(), except after ENVELOPE_IGNORED. */
MUST_USE enum envelope_kind envelope_read(struct str text, struct envelope_request *ret,
					  struct fault *f);
void envelope_done(struct envelope_request *r);

/* A response is written in one go: begin, one object as data, end. */
void envelope_begin_success(struct json_writer *w, int64_t seq);
void envelope_end_success(struct json_writer *w);
void envelope_put_fault(struct json_writer *w, int64_t seq, const struct fault *f);
/* The same for a request whose number may be no number: it is repeated as it was sent, -1 without. */
void envelope_put_refusal(struct json_writer *w, const struct envelope_request *r,
			  const struct fault *f);

/* Failures that the door itself finds; each returns -1. */
int envelope_unknown_action(struct str action, struct fault *f);
int envelope_busy(struct fault *f);
