/*
 * Our own state, as far as volumes and root directories show it.
 *
 * Another sandbox's record in the hands of a payload is that sandbox in its hands. So a volume is
 * refused that lies in our state, a root directory that shows it, and where a volume shows it, by
 * whatever name, the sandbox gets a cover in its place (process/rootfs.h).
 */
#pragma once

#include "process/rootfs.h"
#include "supervisor/supervisor.h"

/* Looks at what R has open: fills R->hidden, or refuses. */
MUST_USE int own_state_find(const struct supervisor *s, struct rootfs *r, struct err *e);
