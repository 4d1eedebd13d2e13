/*
 * From a call of a model, or of a trusted caller, to the BoxSpec that a runtime gets.
 *
 * A model's call names a command, a directory, a time limit and variables, and nothing else: the service decides the
 * session, the mounts and the limits. A trusted caller's payload is a BoxSpec of its own, which the configuration
 * and the profile complete.
 */
#pragma once

#include "service/query.h"
#include "service/service_config.h"

/* PARAMETERS are those of the tool `exec`. SESSION is the caller's session id, or NULL: the template decides. A
 * forced template wins over both. Fails with a FAULT_VALIDATION. */
MUST_USE int resolve_tool(const struct service_config *c, const struct json_value *parameters,
			  const struct query *q, const char *session, struct box_spec *ret,
			  struct fault *f);
/* PAYLOAD is a BoxSpec with its own session_id; the forced template does not apply. */
MUST_USE int resolve_payload(const struct service_config *c, const struct json_value *payload,
			     struct box_spec *ret, struct fault *f);
