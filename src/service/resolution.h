/*
 * Turns a call, from a model or from a trusted program, into the BoxSpec that a runtime gets.
 *
 * A model's call has only a command, a directory, a time limit and environment variables. The
 * service chooses the session, the mounts and the limits. A trusted program passes a BoxSpec. The
 * configuration and the profile add the fields that this BoxSpec leaves out.
 *
 * resolve_own() finds the directories that the tools for files may use directly.
 */
#pragma once

#include "service/query.h"
#include "service/service_config.h"

/* Resolves a call of the tool `exec`. If the configuration forces a template, the session id is
 * made from this template. Otherwise the id is SESSION, or is made from the query's template if
 * SESSION is NULL. After a failure *F is a FAULT_VALIDATION. */
MUST_USE int resolve_tool(const struct service_config *c, const struct json_value *parameters,
			  const struct query *q, const char *session, struct box_spec *ret,
			  struct fault *f);
/* Resolves the session of a call that runs no command, such as a tool for files. */
MUST_USE int resolve_session(const struct service_config *c, const struct query *q,
			     const char *session, struct box_spec *ret, struct fault *f);
/* Resolves PAYLOAD, which is a BoxSpec with a session_id. A forced template does not change this
 * id. */
MUST_USE int resolve_payload(const struct service_config *c, const struct json_value *payload,
			     struct box_spec *ret, struct fault *f);
/* HOST_PATH is a directory that is mounted in a sandbox. If the tools for files may use this
 * directory directly, returns its real path; otherwise returns NULL. The directory must be on this
 * machine. If SKILL is true, it must be in the directory of skills, otherwise in an allowed
 * directory. The reason for the check: a Box server says where its skills are, and must not lead a
 * tool to other files of this machine. The calling code must open the returned path without
 * following links, because someone may have replaced a directory of the path by a link
 * meanwhile. */
char *resolve_own(const struct service_config *c, const char *host_path, bool skill);
