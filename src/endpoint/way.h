/* A way (service/way.h) to a runtime that is a Box server. */
#pragma once

#include "endpoint/interrupt.h"
#include "service/way.h"

/* Connects to the runtime of CONFIG. CONFIG and INTERRUPTS must live as long as the way. Fails if
 * this is not done by the time UNTIL_NS. After a failure, *RET_SIGNAL is the signal that came
 * meanwhile, or 0. */
MUST_USE int way_open_endpoint(const struct service_config *config,
			       const struct interrupts *interrupts, uint64_t until_ns,
			       struct way **ret, int *ret_signal, struct fault *f);
