#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/creation.h"
#include "cli/ui.h"
#include "client/launch.h"

static void show_warnings(const struct buf *warnings)
{
	struct str rest = { buf_str(warnings), warnings->n };

	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (line.n)
			ui_warn("%.*s", (int)line.n, line.p);
	}
}

static int create(const struct args *a, const struct home *h, const struct spec *s, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct launch l = LAUNCH_NONE;
	struct ui_spin spin;
	int r;

	if (creation_replace(a, h, s->name, e) < 0)
		return -1;
	r = launch_create(h, s, false, &l, e);
	ui_spin_begin(&spin, args_has(a, "quiet"), "Creating", s->name);
	l.tick = spin.on ? ui_spin_tick : NULL;
	l.tick_arg = &spin;
	if (r == 0)
		r = launch_wait(&l, &warnings, e);
	if (r == 0)
		r = launch_settle(&l, s, e);
	ui_spin_end(&spin);
	launch_done(&l);
	show_warnings(&warnings);
	return r;
}

int cmd_create(const struct args *a)
{
	uint64_t start = clock_mono_ns();
	AUTO_HOME home = { .fd = -1 };
	struct spec s = { 0 };
	struct err e = { 0 };
	int status = 0;

	if (home_open(&home, &e) < 0)
		return ui_error(&e);
	if (creation_spec(a, &home, &s, &e) < 0 || create(a, &home, &s, &e) < 0) {
		status = ui_error(&e);
	} else {
		if (!args_has(a, "name"))
			printf("%s\n", s.name);
		ui_done("Created", s.name, clock_mono_ns() - start);
	}
	spec_done(&s);
	return status;
}
