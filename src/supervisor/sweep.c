/*
 * Cleans up after dead sandboxes, and deletes a whole home. A supervisor that was killed leaves its
 * control groups, and the mount points that it made in a directory image and in writable volumes.
 *
 * The files of an ordinary user's sandbox may belong to ids of the user's range in /etc/subuid.
 * Only a process in a user namespace that maps this range can delete them. A command that removes a
 * sandbox is in no such namespace. So the command starts cordon-supervisor, which enters such a
 * namespace and calls the functions of this file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "state/places.h"
#include "state/record_config.h"
#include "state/removal.h"
#include "state/volume.h"
#include "supervisor/supervisor.h"

static int sweep(void *arg)
{
	IGNORE(record_sweep(arg, NULL)); /* the next sweep deletes what is left */
	volumes_sweep(arg);
	return 0;
}

/* If DOTTED, deletes the entries whose names begin with a dot. Otherwise deletes all other
 * entries. */
static bool erase_some(int fd, bool dotted)
{
	DIR *d = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	bool good = d != NULL;

	while (d && (entry = readdir(d)))
		if ((entry->d_name[0] == '.') == dotted && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			good &= erase_tree(fd, entry->d_name) == 0;
	if (d)
		closedir(d);
	return good;
}

/* NAME is a part of the home, such as `sandboxes`. If HOME/NAME is a link to a directory elsewhere
 * (state/places.h), deletes everything in that directory, and the directory itself if possible.
 * Returns false if something in it could not be deleted. */
static bool erase_moved(const struct home *h, const char *name)
{
	AUTO_FD fd = places_open_moved(h, name);
	AUTO_FREE char *path = xasprintf("%s/%s", h->path, name);
	AUTO_FREE char *real = fd < 0 ? NULL : realpath(path, NULL);

	if (fd < 0)
		return true;
	if (!erase_some(fd, false) || !erase_some(fd, true))
		return false;
	/* this fails if the directory is a mount point, or belongs to another user */
	IGNORE(real && rmdir(real) < 0);
	return true;
}

/* Deletes everything in the home. The files whose names begin with a dot come last. One of these
 * files is .cordon-home, which marks the directory as a home. If we are killed before that, another
 * command still finds a home and can finish the deletion. Returns 0, or 1 after a failure. */
static int erase_home(void *arg)
{
	const struct home *h = arg;
	AUTO_FD fd = openat(h->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	volumes_release_quotas(h);
	for (size_t i = 0; places_names[i]; i++)
		if (!erase_moved(h, places_names[i]))
			return 1;
	return fd < 0 || !erase_some(fd, false) || !erase_some(fd, true);
}

int supervisor_release(const char *entry)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE;
	AUTO_FREE char *path = NULL;
	struct err e;
	bool readable;

	if (home_open(&home, &e) < 0)
		return 1;
	/* the caller makes sure that no sandbox uses the name; the record may be in any state */
	path = xasprintf("sandboxes/%s", entry);
	record.dir = openat(home.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	readable = record.dir >= 0 && record_read_config(record.dir, &record, &e) == 0 &&
		   record.spec.name;
	engine_process.release(&home, entry[0] == '.' && readable ? record.spec.name : entry,
			       readable ? &record.spec : NULL);
	return 0;
}

static int run_in_home(int (*work)(void *arg))
{
	AUTO_HOME home = { .fd = -1 };
	struct err e;

	if (home_open(&home, &e) < 0)
		return 1;
	return engine_process.run_as_owner(work, &home, &e) != 0;
}

int supervisor_sweep(void)
{
	return run_in_home(sweep);
}

int supervisor_erase_home(void)
{
	return run_in_home(erase_home);
}
