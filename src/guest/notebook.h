/*
 * What clients leave with pid 1 for whoever comes next: one blob with a version, for the time of this boot.
 * The terminal keeps the state of its shell here, because no file inside or outside may hold it.
 *
 * A client replaces the version that it has read, so of two that change it at once one learns that it was
 * late. pid 1 is outside the sandbox's memory limit: the blob has a bound (STATE_MAX_BYTES).
 */
#pragma once

#include "guest/connection.h"

void notebook_get(struct connection *c, uint32_t stream);
void notebook_put(struct connection *c, uint32_t stream, struct str body);
