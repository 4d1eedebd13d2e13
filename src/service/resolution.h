/*
 * Turns a call of a model, or of a trusted caller, into the BoxSpec that a runtime gets.
 *
 * A model's call names only a command, a directory, a time limit and variables. The service decides the session, the
 * mounts and the limits. A trusted caller passes a BoxSpec of its own. The configuration and the profile add the fields
 * that this BoxSpec leaves out.
 */
#pragma once

#include "service/query.h"
#include "service/service_config.h"

/* Resolves a call of the tool `exec`. If a template is forced, it makes the session id. Otherwise the id is SESSION. If
 * SESSION is NULL, the query's template makes the id. Fails with a FAULT_VALIDATION. */
MUST_USE int resolve_tool(const struct service_config *c, const struct json_value *parameters,
			  const struct query *q, const char *session, struct box_spec *ret,
			  struct fault *f);
/* Resolves the session of a call that runs no command, such as a tool for files. */
MUST_USE int resolve_session(const struct service_config *c, const struct query *q,
			     const char *session, struct box_spec *ret, struct fault *f);
/* Resolves PAYLOAD, a BoxSpec with its own session_id. The forced template does not apply. */
MUST_USE int resolve_payload(const struct service_config *c, const struct json_value *payload,
			     struct box_spec *ret, struct fault *f);
/* Returns the real path of HOST_PATH, a mounted directory, if the tools for files may handle it directly: the directory
 * is on this machine and lies below an allowed root, or below the directory of skills if it is a SKILL. Otherwise returns
 * NULL. A Box server names the directories of its skills, and must not lead a tool to other files of this machine.
 * The caller opens the returned path and follows no link, because HOST_PATH may lead elsewhere by then. */
char *resolve_own(const struct service_config *c, const char *host_path, bool skill);
