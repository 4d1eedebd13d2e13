/* A way (service/way.h) to a runtime that is a Box server. */
#pragma once

#include "service/way.h"

/* Connects to the runtime of CONFIG, which must live as long as the way. On failure *RET_SIGNAL is the signal that
 * came meanwhile, or 0. */
MUST_USE int way_open_endpoint(const struct service_config *config, struct way **ret,
			       int *ret_signal, struct fault *f);
