/*
 * Who does in the commands' stead what could leave a privilege on the host.
 *
 * A set-user-id or set-group-id file, or one with capabilities, that a command makes in a directory of the
 * host's counts for every user of the host. Nobody may make one there, and package managers must
 * be able to make them in the sandbox's own layer. Which of the two a call is about depends on its path,
 * and no filter sees that. So in sandboxes that can have files of the host open for writing, the kernel hands such
 * calls (tools/notify.table) to the deputy: a process of ours beside pid 1. For each of them it starts a
 * task which does the call as the caller would have, and leaves the privilege out where it would be the
 * host's. Those are sandboxes where a directory of the host is writable, and a user's where one is readable: another
 * sandbox can lend them its descriptors through a socket there.
 *
 * The deputy lives as pid 1 does, in the outer user namespace, and cannot be read or traced from inside. When it
 * dies the calls get ENOSYS; nothing else changes.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "guest/exec.h"

#define DEPUTY_OWN_MAX \
	64 /* mounts of the sandbox's own besides its root; others keep no privilege */

struct deputy {
	pid_t pid;
	int link; /* the deputy waits at the other end for what to listen to */
};

/* Makes the process. Our capabilities over the sandbox's namespaces are still all there: the deputy finds out
 * with them which mounts are the sandbox's own. The filter of the calls is not there yet: it must not
 * hold for the deputy. */
MUST_USE int deputy_start(const struct exec_walls *w, const struct boot_message *boot,
			  struct deputy *ret, struct err *e);
/* From here on our calls and those of all we start go to it. */
MUST_USE int deputy_engage(struct deputy *d, struct err *e);
