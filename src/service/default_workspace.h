/* The default workspace of the service: the directory at /workspace for calls that name no directory. */
#pragma once

#include "service/service_config.h"

/* Makes the directory if it is missing and lies in an allowed root. Succeeds if no default workspace is configured.
 * Fails with a FAULT_VALIDATION. */
MUST_USE int default_workspace_prepare(const struct service_config *c, struct fault *f);
