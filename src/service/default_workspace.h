/* The default workspace: the host directory that a sandbox has at /workspace if the request gives
 * no host directory. */
#pragma once

#include "service/service_config.h"

/* Checks the default workspace. If the directory is missing but lies below one of the allowed
 * directories, makes it. Does nothing and succeeds if no default workspace is configured, or if the
 * user named it on the command line. Returns 0, or -1 with a FAULT_VALIDATION in *F. */
MUST_USE int default_workspace_prepare(const struct service_config *c, struct fault *f);
