/* The default workspace of the service: the directory that calls see at /workspace if they name none. */
#pragma once

#include "service/service_config.h"

/* Makes the directory if it is missing, inside the allowed roots. Success if none is configured. Fails with a
 * FAULT_VALIDATION. */
MUST_USE int default_workspace_prepare(const struct service_config *c, struct fault *f);
