/* Tests holder_start_within(), which makes a user namespace under resource limits. Afterwards our
 * own limits must be as before. */
#include "base/holder.h"

#include <sys/resource.h>

#include "base/cleanup.h"
#include "t.h"

static struct rlimit limit_of(int resource)
{
	struct rlimit l = { 0 };

	T_INT(getrlimit(resource, &l), 0);
	return l;
}

static void own_limits_come_back(void)
{
	static const char *const lists[] = {
		NULL,
		"",
		"6:1000",
		"6:1000 11:17 12:4096 8:0",
		"6:1 6:2 6:3 6:4 6:5",
		":",
		"6",
		"6: x:1 99:1 6:x",
		"6:18446744073709551615 12:99999999999",
	};
	struct rlimit before = limit_of(RLIMIT_MSGQUEUE), processes = limit_of(RLIMIT_NPROC);

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct holder h;
		int r = holder_start_within(&h, lists[i]);
		struct rlimit now = limit_of(RLIMIT_MSGQUEUE), then = limit_of(RLIMIT_NPROC);

		T_TRUE(now.rlim_cur == before.rlim_cur && now.rlim_max == before.rlim_max);
		T_TRUE(then.rlim_cur == processes.rlim_cur && then.rlim_max == processes.rlim_max);
		/* holder_start_within() may fail: some hosts refuse user namespaces, and the user
		 * may have more processes than the limit allows */
		if (r == 0)
			holder_end(&h);
		else
			T_TRUE(r < 0);
	}
}

int main(void)
{
	T_RUN(own_limits_come_back);
	return t_end();
}
