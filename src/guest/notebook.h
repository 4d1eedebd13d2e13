/*
 * The notebook is one blob with a version that clients leave with pid 1 for later clients, until the sandbox stops.
 * A terminal client keeps the state of its shell here, because no file inside or outside may hold that state.
 *
 * A client names the version that it replaces. If two clients change the blob at once, pid 1 refuses the second.
 * pid 1 is outside the sandbox's memory limit, so the blob has a bound (STATE_MAX_BYTES).
 */
#pragma once

#include "guest/connection.h"

void notebook_get(struct connection *c, uint32_t stream);
void notebook_put(struct connection *c, uint32_t stream, struct str body);
