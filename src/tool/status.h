/* What `cordon service status` tells: whether calls can run, and how the service is configured. */
#pragma once

#include "service/way.h"

/* Writes the status as an object. WAY is NULL if the runtime is unavailable; then WHY says why. */
void status_write(const struct service_config *c, struct way *way, const struct fault *why,
		  size_t recent_errors, struct json_writer *w);
