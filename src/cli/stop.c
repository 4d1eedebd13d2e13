#include "cli/stop.h"

#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/targets.h"
#include "client/stop.h"

#define GRACE_MAX_S (24u * 3600)

int stop_grace(const struct args *a, uint32_t *ret_ms, struct err *e)
{
	uint64_t s = args_uint(a, "timeout", 0);

	*ret_ms = STOP_GRACE_DEFAULT;
	if (args_has(a, "timeout")) {
		if (s > GRACE_MAX_S)
			return err_set(e, ERR_INVALID,
				       "--timeout: bad value '%llu': at most %u, a day",
				       (unsigned long long)s, GRACE_MAX_S);
		*ret_ms = (uint32_t)s * 1000;
	}
	if (args_has(a, "force"))
		*ret_ms = 0;
	return 0;
}

static int stop(const struct args *a, const struct home *h, const char *name, void *data,
		struct err *e)
{
	uint64_t begin = clock_mono_ns();
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0 || sandbox_stop(h, name, *(uint32_t *)data, e) < 0)
		return -1;
	say_done("Stopped", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_stop(const struct args *a)
{
	struct err e = { 0 };
	uint32_t grace;

	if (stop_grace(a, &grace, &e) < 0)
		return say_error(&e);
	if (args_has(a, "id"))
		return stop_command(a, grace);
	return args_has(a, "all") ? targets_all(a, stop, &grace, false, true)
				  : targets_each(a, stop, &grace, false);
}
