#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "cli/targets.h"
#include "cli/ui.h"
#include "client/launch.h"

int start_one(const struct home *h, const char *name, bool quiet, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct launch l = LAUNCH_NONE;
	int r = launch_start(h, name, &l, e);
	struct ui_spin spin;

	ui_spin_begin(&spin, quiet, "Starting", name);
	l.tick = spin.on ? ui_spin_tick : NULL;
	l.tick_arg = &spin;
	if (r == 0)
		r = launch_wait(&l, &warnings, e);
	ui_spin_end(&spin);
	launch_done(&l);
	return r;
}

static int start(const struct args *a, const struct home *h, const char *name, void *data,
		 struct err *e)
{
	uint64_t begin = clock_mono_ns();
	AUTO_RECORD r = RECORD_NONE;

	if (record_load(h, name, &r, e) < 0)
		return -1;
	if (r.status != STATUS_STOPPED && r.status != STATUS_CRASHED)
		return err_set(e, ERR_BUSY, "sandbox '%s' is already %s", name,
			       status_lower(r.status));
	if (start_one(h, name, args_has(a, "quiet"), e) < 0)
		return -1;
	ui_done("Started", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_start(const struct args *a)
{
	return targets_each(a, start, NULL, true);
}
