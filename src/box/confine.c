#include "box/confine.h"

#include <errno.h>
#include <sys/prctl.h>

static int give_up_capabilities(struct err *e)
{
	/* an ordinary user lacks CAP_SETPCAP, so the calls fail. A failure is harmless, because
	 * with no_new_privs the bounding set has no effect */
	for (unsigned cap = 0; cap < 64; cap++)
		IGNORE(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0));
	/* a failure is harmless, because the kernel empties the ambient set together with the
	 * permitted set */
	IGNORE(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	return confine_capabilities(0, e);
}

/* Forbids core dumps, and forbids other processes of the user to read our memory, which holds the
 * peers' secret. */
static int hide_memory(struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, errno, "hide the memory");
	return confine_core(e);
}

/* Gives up every right on files. On a host without Landlock, only the system call filter denies
 * access to files. */
static int hide_files(struct err *e)
{
	struct confine_files f;

	return confine_files_begin(&f, e) < 0 || confine_files_end(&f, e) < 0 ? -1 : 0;
}

int server_confine(struct err *e)
{
	if (give_up_capabilities(e) < 0 || hide_memory(e) < 0 || hide_files(e) < 0 ||
	    confine_calls(box_filter, box_filter_len, e) < 0)
		return err_wrap(e, "confine the server");
	return 0;
}
