/*
 * Some system calls of commands could leave a privilege on the host. The deputy makes these calls
 * in place of commands.
 *
 * If a command made a set-user-id file, a set-group-id file or a file with capabilities in a
 * directory of the host, every user of the host would get that privilege. So commands must not make
 * such files in directories of the host. But package managers must be able to make such files in
 * the sandbox's own layer. The path of a call decides where the file is, and a seccomp filter
 * cannot see paths. So the kernel passes such calls (tools/notify.table) to the deputy, a process
 * of ours beside pid 1. For each call the deputy starts a task. The task makes the call with the
 * caller's rights, and leaves the privilege out if the file is on the host. A sandbox has a deputy
 * only if its commands can have files of the host open for writing. This is so if a directory of
 * the host is writable in the sandbox. In an ordinary user's sandbox, a readable directory of the
 * host is enough: through a socket in this directory, another sandbox can pass descriptors of files
 * that are open for writing.
 *
 * The deputy is in the outer user namespace, as pid 1 is. No process of the payload can read or
 * trace the deputy. If the deputy dies, the calls of tools/notify.table fail with ENOSYS; nothing
 * else changes.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "guest/exec.h"

struct deputy {
	pid_t pid;
	int link; /* a socket; deputy_engage() uses it to send the seccomp listener to the deputy */
};

/* Starts the deputy. Call this while pid 1 still has all capabilities over the sandbox's
 * namespaces, because the deputy needs them to find out which mounts are the sandbox's own. Call it
 * before deputy_engage(), because the filter of deputy_engage() must not apply to the deputy. */
MUST_USE int deputy_start(const struct exec_walls *w, const struct boot_message *boot,
			  struct deputy *ret, struct err *e);
/* Installs a seccomp filter on pid 1 and sends its listener to the deputy. From now on, if pid 1 or
 * a process that it starts makes a system call of tools/notify.table, the kernel passes this system
 * call to the deputy. */
MUST_USE int deputy_engage(struct deputy *d, struct err *e);
