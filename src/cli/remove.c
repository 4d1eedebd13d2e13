#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/removal.h"

static int remove_one(const struct args *a, const struct home *h, const char *name, void *data,
		      struct err *e)
{
	uint64_t begin = clock_mono_ns();

	if (sandbox_remove(h, name, args_has(a, "force"), e) < 0)
		return -1;
	say_done("Removed", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_remove(const struct args *a)
{
	return targets_each(a, remove_one, NULL, true);
}
