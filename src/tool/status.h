/* The answer of `cordon service status`: whether tool calls can run, and how the service is
 * configured. */
#pragma once

#include "service/way.h"

/* Writes the status as an object. If the runtime is unavailable, WAY is NULL and WHY is the
 * reason. */
void status_write(const struct service_config *c, struct way *way, const struct fault *why,
		  size_t recent_errors, struct json_writer *w);
