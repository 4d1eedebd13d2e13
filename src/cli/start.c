#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "cli/spinner.h"
#include "cli/targets.h"

static void show_warnings(const struct buf *warnings)
{
	struct str rest = { buf_str(warnings), warnings->n };

	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (line.n)
			say_warn("%.*s", (int)line.n, line.p);
	}
}

int start_wait(struct launch *l, const char *verb, const struct spec *s, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct spinner spin;
	int r;

	spinner_begin(&spin, false, verb, l->name);
	l->tick = spin.on ? spinner_tick : NULL;
	l->tick_arg = &spin;
	r = launch_wait(l, &warnings, e);
	if (r == 0 && s)
		r = launch_settle(l, s, e);
	spinner_end(&spin);
	l->tick = NULL;
	if (s)
		show_warnings(&warnings);
	return r;
}

int start_one(const struct home *h, const char *name, struct err *e)
{
	struct launch l = LAUNCH_NONE;
	int r = launch_start(h, name, &l, e);

	if (r == 0)
		r = start_wait(&l, "Starting", NULL, e);
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
	if (start_one(h, name, e) < 0)
		return -1;
	say_done("Started", name, clock_mono_ns() - begin);
	return 0;
}

int cmd_start(const struct args *a)
{
	return targets_each(a, start, NULL, true);
}
