/*
 * A query is a person's question that a model answers. Only the fields that the service needs are
 * read, and all of them are optional: {query_id, launcher_type, launcher_id, sender_id,
 * variables{}, pipeline_config{}}.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "service/fault.h"

struct query {
	const struct json_value *v; /* an object, or NULL if all fields are missing */
};

/* Reads a query. V may be NULL, which means that all fields are missing. Fails with a
 * FAULT_VALIDATION if V is not an object or if a member of V has a wrong type. */
MUST_USE int query_read(const struct json_value *v, struct query *ret, struct fault *f);
/* Appends the query's id as a text, or `unknown` if the query has no id. */
void query_id(const struct query *q, struct buf *out);
/* Makes a session id from a template, and appends the id to OUT. Uses the first of these templates
 * that is not empty: FORCED, the template of the query's pipeline, SESSION_TEMPLATE_DEFAULT. */
MUST_USE int query_session_id(const struct query *q, struct str forced, struct buf *out,
			      struct fault *f);
