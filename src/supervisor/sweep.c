/*
 * What is left to do for the dead. A supervisor that was killed leaves its control groups behind,
 * and the mount points it made in a directory image.
 * Files that a sandbox made under a sub-range of ids can be deleted only from a user namespace
 * that has the range. The record's owner cannot; so whoever removes such a sandbox runs us.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "state/volume.h"
#include "supervisor/stubs.h"
#include "supervisor/supervisor.h"

static int sweep(void *arg)
{
	record_sweep(arg);
	volumes_sweep(arg);
	return 0;
}

int supervisor_reap(const char *name)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE;
	AUTO_FREE char *path = NULL;
	char id[HOME_ID_BYTES];
	struct err e;

	if (home_open(&home, &e) < 0)
		return 1;
	home_machine_id(&home, name, id);
	cgroup_remove(id);
	/* the caller holds the record's lock; read it as it is, whatever state it is in */
	path = xasprintf("sandboxes/%s", name);
	record.dir = openat(home.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (record.dir >= 0 && record_read_config(record.dir, &record, &e) == 0 &&
	    record.spec.image.kind == IMAGE_DIR)
		stubs_remove(record.dir, record.spec.image.reference);
	return 0;
}

int supervisor_sweep(void)
{
	struct supervisor s = { 0 };
	struct err e;
	int r = home_open(&s.home, &e);

	if (r == 0 && geteuid() != 0 && (r = supervisor_choose_ids(&s, &e)) == 0)
		r = ids_run(&s.ids, sweep, &s.home, &e);
	else if (r == 0)
		r = sweep(&s.home);
	home_done(&s.home);
	return r < 0;
}
