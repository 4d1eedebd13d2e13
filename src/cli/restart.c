#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "cli/stop.h"
#include "cli/targets.h"
#include "client/stop.h"

static int restart(const struct args *a, const struct home *h, const char *name, void *data,
		   struct err *e)
{
	uint64_t begin = clock_mono_ns();
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (r.status == STATUS_STARTING)
		return err_set(e, ERR_BUSY, "sandbox '%s' is starting", name);
	if (sandbox_stop(h, name, *(uint32_t *)data, e) < 0 || start_one(h, name, e) < 0)
		return -1;
	say_done("Restarted", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_restart(const struct args *a)
{
	struct err e = { 0 };
	uint32_t grace;

	if (stop_grace(a, &grace, &e) < 0)
		return say_error(&e);
	return targets_each(a, restart, &grace, true);
}
