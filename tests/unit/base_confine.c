/* Children of this program confine themselves and look at the result. */
#include "base/confine.h"

#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

/* Calls confine_core() in a child whose limits of core dumps are BEFORE. If POWERLESS, the child
 * has no capabilities. Returns the common value of the soft and the hard limit, or 100 or -1 after
 * a failure. */
static int core_after(struct rlimit before, bool powerless)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit now;
		struct err e;

		if (setrlimit(RLIMIT_CORE, &before) < 0 ||
		    (powerless && confine_capabilities(0, &e) < 0) || confine_core(&e) < 0 ||
		    getrlimit(RLIMIT_CORE, &now) < 0 || now.rlim_cur != now.rlim_max)
			_exit(100);
		_exit(now.rlim_cur > 1 ? 100 : (int)now.rlim_cur);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WEXITSTATUS(status);
}

static void core_becomes_1(void)
{
	static const rlim_t hard[] = { 1, 4096, RLIM_INFINITY };
	struct rlimit own;

	T_INT(getrlimit(RLIMIT_CORE, &own), 0);
	for (unsigned i = 0; i < 3; i++) {
		if (hard[i] > own.rlim_max)
			continue; /* an ordinary user cannot raise the limit */
		T_INT(core_after((struct rlimit){ 0, hard[i] }, true), 1);
		T_INT(core_after((struct rlimit){ hard[i], hard[i] }, true), 1);
	}
}

static void a_hard_limit_of_0_needs_a_capability(void)
{
	const struct rlimit none = { 0, 0 };
	int r = core_after(none, false);

	T_INT(core_after(none, true), 0);
	T_TRUE(r == 1 || r == 0); /* root raises the limit, unless it lacks CAP_SYS_RESOURCE */
}

int main(void)
{
	T_RUN(core_becomes_1);
	T_RUN(a_hard_limit_of_0_needs_a_capability);
	return t_end();
}
