/* The default workspace: the host directory that a sandbox has at /workspace if the call names no directory. */
#pragma once

#include "service/service_config.h"

/* Makes the directory if it is missing and is below one of the allowed directories. Succeeds if no default
 * workspace is configured. Fails with a FAULT_VALIDATION. */
MUST_USE int default_workspace_prepare(const struct service_config *c, struct fault *f);
