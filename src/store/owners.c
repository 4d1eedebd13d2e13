#include "store/owners.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/spawn.h"
#include "host/subid.h"

/* Runs PROGRAM, which is newuidmap or newgidmap, to map the ids of the user namespace of PID: the
 * id 0 to CALLER, and the ids 1 to OWNERS_SUBIDS to the host ids from START on. Returns false if
 * this fails. */
static bool run_mapper(const char *program, pid_t pid, uint32_t caller, uint32_t start)
{
	char target[16], own[16], first[16], count[16];
	const char *argv[] = { program, target, "0", own, "1", "1", first, count, NULL };
	struct child child;
	struct err ignored; /* if this fails, the worker goes on with one id */
	int status;

	snprintf(target, sizeof(target), "%d", (int)pid);
	snprintf(own, sizeof(own), "%u", caller);
	snprintf(first, sizeof(first), "%u", start);
	snprintf(count, sizeof(count), "%u", OWNERS_SUBIDS);
	return spawn_path(argv, &child, &ignored) == 0 && child_wait(&child, &status) == 0 &&
	       status == 0;
}

bool owners_map(pid_t pid)
{
	struct subid ids;
	struct err ignored; /* if this fails, the worker goes on with one id */

	return subid_find(getuid(), OWNERS_SUBIDS, &ids, &ignored) == 0 &&
	       run_mapper("newuidmap", pid, getuid(), ids.uid.start) &&
	       run_mapper("newgidmap", pid, getgid(), ids.gid.start);
}

int owners_map_self(uid_t uid, gid_t gid)
{
	char line[32];
	int r = io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");

	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "0 %u 1", uid);
	r = io_write_file(AT_FDCWD, "/proc/self/uid_map", line);
	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "0 %u 1", gid);
	return io_write_file(AT_FDCWD, "/proc/self/gid_map", line);
}
