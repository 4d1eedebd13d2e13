#include "host/groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/str.h"
#include "host/hierarchy.h"

#define DEPTH_MAX 8 /* a group in which groups are nested deeper than this counts as used */

static int open_dir(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Returns true if no process is in the group or in any group below. A group that cannot be read
 * counts as used. */
static bool is_empty(int parent, const char *name, unsigned depth)
{
	AUTO_FD dir = open_dir(parent, name);
	AUTO_FD members = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	const struct dirent *entry;
	AUTO_DIR list = NULL;
	bool empty;
	char c;

	if (members < 0 || depth == 0 || read(members, &c, 1) != 0)
		return false;
	list = dir_open(dir, ".");
	empty = list != NULL;
	while (empty && (entry = dir_next(list)))
		if (entry->d_type == DT_DIR)
			empty = is_empty(dir, entry->d_name, depth - 1);
	return empty;
}

static bool is_old(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtim.tv_sec + GROUPS_START_SECONDS < time(NULL);
}

static bool is_ours(const char *name)
{
	const char *id = name + strlen(GROUPS_PREFIX);

	return starts_with(name, GROUPS_PREFIX) && strlen(id) == GROUPS_ID_BYTES - 1 &&
	       strspn(id, "0123456789abcdef") == GROUPS_ID_BYTES - 1;
}

static void look_in(const char *path, void (*seen)(void *arg, const char *id, bool idle), void *arg)
{
	AUTO_DIR list = dir_open(AT_FDCWD, path);
	const struct dirent *entry;

	while ((entry = dir_next(list)))
		if (is_ours(entry->d_name))
			seen(arg, entry->d_name + strlen(GROUPS_PREFIX),
			     is_old(dirfd(list), entry->d_name) &&
				     is_empty(dirfd(list), entry->d_name, DEPTH_MAX));
}

void groups_find(void (*seen)(void *arg, const char *id, bool idle), void *arg)
{
	struct hierarchy_layout l;

	if (hierarchy_find(&l) == 0 && l.unified.version)
		look_in(l.unified.dir, seen, arg);
	/* In version 1 only root's sandboxes have groups. They lie at the top of each hierarchy. */
	for (unsigned i = 0; i < CONTROLLER_COUNT; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", controller_name(i));
		look_in(path, seen, arg);
	}
}
