/*
 * What is left to do for the dead. A supervisor that was killed leaves its control groups behind.
 * Files that a sandbox made under a sub-range of ids can be deleted only from a user namespace
 * that has the range. The record's owner cannot; so whoever removes such a sandbox runs us.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/supervisor.h"

static int sweep(void *arg)
{
	record_sweep(arg);
	return 0;
}

int supervisor_reap(const char *name)
{
	AUTO_HOME home = { .fd = -1 };
	char id[HOME_ID_BYTES];
	struct err e;

	if (home_open(&home, &e) < 0)
		return 1;
	home_machine_id(&home, name, id);
	cgroup_remove(id);
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
		record_sweep(&s.home);
	home_done(&s.home);
	return r < 0;
}
