/*
 * Turns a call of a model, or of a trusted caller, into the BoxSpec that a runtime gets.
 *
 * A model's call names only a command, a directory, a time limit and variables. The service decides the session, the
 * mounts and the limits. A trusted caller passes a BoxSpec of its own. The configuration and the profile add what it
 * leaves out.
 */
#pragma once

#include "service/query.h"
#include "service/service_config.h"

/* PARAMETERS are the parameters of the tool `exec`. SESSION is the caller's session id. If it is NULL, the template makes
 * the id. A forced template always makes the id. Fails with a FAULT_VALIDATION. */
MUST_USE int resolve_tool(const struct service_config *c, const struct json_value *parameters,
			  const struct query *q, const char *session, struct box_spec *ret,
			  struct fault *f);
/* Resolves the session of a call that runs no command, such as a tool for files. */
MUST_USE int resolve_session(const struct service_config *c, const struct query *q,
			     const char *session, struct box_spec *ret, struct fault *f);
/* PAYLOAD is a BoxSpec with its own session_id; the forced template does not apply. */
MUST_USE int resolve_payload(const struct service_config *c, const struct json_value *payload,
			     struct box_spec *ret, struct fault *f);
/* Removes from S, the spec of a call for files, the directories that are not of this machine, and the directories that
 * a runtime has named outside the allowed roots: a Box server must not lead a tool to other files of ours. */
void resolve_own_files(const struct service_config *c, struct box_spec *s);
