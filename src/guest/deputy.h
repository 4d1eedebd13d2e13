/*
 * Some system calls of commands could leave a privilege on the host. The deputy makes these calls in place of commands.
 *
 * If a command makes a set-user-id or set-group-id file, or a file with capabilities, in a directory of the host,
 * every user of the host has that privilege. So commands must not make such files there, but package managers must be
 * able to make them in the sandbox's own layer. Where a call makes the file depends on its path, and no filter sees
 * paths. So where commands can have files of the host open for writing, the kernel hands such calls
 * (tools/notify.table) to the deputy, a process of ours beside pid 1. For each call the deputy starts a task. The
 * task makes the call with the caller's rights, and leaves the privilege out if the file is on the host. A sandbox
 * has a deputy if a directory of the host is writable in it. A user's sandbox also has a deputy if a directory of the
 * host is readable: another sandbox can pass descriptors through a socket in that directory.
 *
 * The deputy lives in the outer user namespace as pid 1 does, and no process inside can read or trace it. If it dies,
 * these calls fail with ENOSYS; nothing else changes.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "guest/exec.h"

/* mounts of the sandbox's own, besides its root, on which files may have privileges */
#define DEPUTY_OWN_MAX 64

struct deputy {
	pid_t pid;
	int link; /* socket: deputy_engage() sends the listener of the calls to the deputy */
};

/* Makes the process. Call it while pid 1 still has all capabilities over the sandbox's namespaces: the deputy needs
 * them to find out which mounts are the sandbox's own. Call it before deputy_engage(), whose filter must not apply to
 * the deputy. */
MUST_USE int deputy_start(const struct exec_walls *w, const struct boot_message *boot,
			  struct deputy *ret, struct err *e);
/* From now on the kernel hands the calls of tools/notify.table to the deputy, if pid 1 or a later process makes them. */
MUST_USE int deputy_engage(struct deputy *d, struct err *e);
