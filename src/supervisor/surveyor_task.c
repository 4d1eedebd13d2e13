#include "supervisor/surveyor_task.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include "base/raw.h"

/* The task gives these numbers to the descriptors that it keeps. It closes all other descriptors.
 * Above all it must close the lock of the record: as long as any process has the lock open, the
 * sandbox counts as alive. */
enum { SOCKET, LAYER, PID_1, RULESET, KEPT_MAX };

#define NAME "cordon-survey"
#define RETRY_NS 1000000 /* 1 ms */

static long drop_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].effective = data[0].permitted = 1u << CAP_DAC_READ_SEARCH;
	return RAW2(SYS_capset, &head, data);
}

static long keep_descriptors(const struct surveyor_memory *m)
{
	const int keep[] = { m->socket, m->layer, m->pidfd, m->ruleset };
	long r = 0;

	for (int i = 0; r >= 0 && i < KEPT_MAX; i++)
		if (keep[i] >= 0 && keep[i] != i)
			r = RAW3(SYS_dup3, keep[i], i, 0);
	return r < 0 ? r : RAW3(SYS_close_range, KEPT_MAX, ~0u, 0);
}

/* Enters the sandbox's user namespace. In this namespace the task can read the directories of the
 * sandbox's ids, whatever their modes, and no other directories.
 *
 * If an ordinary user runs cordon, setns() fails with EPERM until pid 1 has executed its program,
 * because before that pid 1 has another id and shares our memory. So the task tries again until
 * setns() succeeds. The task misses nothing meanwhile: no command runs before pid 1 has executed
 * its program. */
static long enter_namespace(void)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	long r;

	while ((r = RAW2(SYS_setns, PID_1, CLONE_NEWUSER)) == -EPERM)
		RAW2(SYS_nanosleep, &pause, NULL);
	return r;
}

static long confine(const struct surveyor_memory *m)
{
	long r;

	RAW5(SYS_prctl, PR_SET_NAME, NAME, 0, 0, 0);
	/* Landlock must come after the namespace: a task under Landlock may not enter the
	 * namespace of pid 1 */
	if ((r = RAW5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0 ||
	    (r = keep_descriptors(m)) < 0 || (r = enter_namespace()) < 0 ||
	    (r = drop_capabilities()) < 0)
		return r;
	if (m->ruleset >= 0 && (r = RAW2(SYS_landlock_restrict_self, RULESET, 0)) < 0)
		return r;
	/* PDEATHSIG must be set after the last change of credentials, which may clear it */
	if ((r = RAW5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)) < 0)
		return r;
	RAW3(SYS_close_range, PID_1, ~0u, 0);
	return m->filter.len ? RAW3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &m->filter) : 0;
}

static void count(struct surveyor_memory *m)
{
	m->result = (struct survey){ 0 };
	survey_tree(LAYER, "upper", m->most_files, &m->room, &m->result);
	survey_tree(LAYER, "work", m->most_files, &m->room, &m->result);
	RAW3(SYS_madvise, &m->room, sizeof(m->room),
	     MADV_DONTNEED); /* the next count does not need the old contents */
}

void surveyor_task(void *memory)
{
	struct surveyor_memory *m = memory;
	char c = 0;

	if (confine(m) < 0)
		raw_exit(1);
	while (RAW3(SYS_read, SOCKET, &c, 1) == 1) {
		count(m);
		if (RAW3(SYS_write, SOCKET, &c, 1) != 1)
			break;
	}
	raw_exit(0);
}
