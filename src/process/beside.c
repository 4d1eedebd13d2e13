#include "process/beside.h"

#include "base/err.h"

bool beside_begin(pid_t pid, cpu_set_t *ret_before)
{
	int here = sched_getcpu();
	cpu_set_t others;

	if (here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(pid, sizeof(*ret_before), ret_before) < 0)
		return false;
	others = *ret_before;
	CPU_CLR((unsigned)here, &others);
	return CPU_COUNT(&others) > 0 && sched_setaffinity(pid, sizeof(others), &others) == 0;
}

void beside_free(pid_t pid, const cpu_set_t *before)
{
	IGNORE(sched_setaffinity(pid, sizeof(*before), before)); /* it may have ended */
}
