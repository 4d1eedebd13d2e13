#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/removal.h"

static int remove_one(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e)
{
	uint64_t begin = clock_mono_ns();
	bool force = args_has(a, "force");

	if (sandbox_remove(h, name, force, e) < 0) {
		if (!force || e->code != ERR_NOT_FOUND || args_as_msb(a))
			return -1;
		if (!args_has(a, "quiet"))
			say_warn("%s", e->msg);
		return 0;
	}
	say_done("Removed", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_remove(const struct args *a)
{
	return args_has(a, "all") ? targets_all(a, remove_one, NULL, true, false)
				  : targets_each(a, remove_one, NULL, true);
}
