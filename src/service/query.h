/*
 * A person's question, which a model answers, with the fields that the service needs. All fields are optional:
 * {query_id, launcher_type, launcher_id, sender_id, variables{}, pipeline_config{}}.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "service/fault.h"

struct query {
	const struct json_value *v; /* an object, or NULL if all fields are missing */
};

/* Fails with a FAULT_VALIDATION unless V is an object whose members have the right types. */
MUST_USE int query_read(const struct json_value *v, struct query *ret, struct fault *f);
/* Appends the query's id as a text, or `unknown`. */
void query_id(const struct query *q, struct buf *out);
/* Appends the session id. The id is made from the first template that exists: FORCED if it is not empty, the template of
 * the query's pipeline, SESSION_TEMPLATE_DEFAULT. */
MUST_USE int query_session_id(const struct query *q, struct str forced, struct buf *out,
			      struct fault *f);
