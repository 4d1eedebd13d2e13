/*
 * A process of ours that waits behind the walls and starts commands there: a filter, a namespace and
 * groups are entered once instead of by each of them, which is a quarter of what a short one takes.
 *
 * It belongs to one kill scope, whose group or mark its commands inherit. They are children of pid 1
 * all the same. It has a copy of pid 1's memory, as unreadable to the payload as the original, and
 * shares its descriptors; an order is written into memory that both see. The payload's root can
 * kill or stop it, being root of the namespace that it joined: then commands are started without one.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "guest/exec.h"

struct launcher;

/* In the group CGROUP, or with a mark of its own (-1). NULL: do without. */
struct launcher *launcher_new(const struct exec_walls *w, int cgroup);
pid_t launcher_pid(const struct launcher *l);
/* As exec_start(), if it can: false says that nothing was started, and that somebody else must. */
bool launcher_start(struct launcher *l, struct exec_job *j, pid_t *ret_pid);
/* Ends it; NULL is fine. */
void launcher_free(struct launcher *l);
/* Has it end and be gone, so that it does not count as one of the sandbox's processes any more. */
void launcher_end(const struct launcher *l);
