#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/creation.h"
#include "cli/start.h"
#include "client/removal.h"

static int create(const struct args *a, const struct home *h, const struct spec *s, struct err *e)
{
	struct launch l = LAUNCH_NONE;
	int r;

	if (creation_replace(a, h, s->name, e) < 0)
		return -1;
	r = launch_create(h, s, false, &l, e);
	if (r == 0)
		r = start_wait(&l, "Creating", s, e);
	/* with `--rm` the sandbox is deleted when it ends, but it must not end when this process
	 * ends */
	if (r == 0 && s->ephemeral)
		launch_release(&l);
	launch_done(&l);
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
		return say_error(&e);
	if (creation_spec(a, &home, &s, &e) < 0 || create(a, &home, &s, &e) < 0) {
		status = say_error(&e);
	} else {
		if (!args_has(a, "name"))
			status = say_name(s.name);
		if (status == 0)
			say_done("Created", s.name, clock_mono_ns() - start);
		/* the name could not be printed, so remove the sandbox */
		else if (sandbox_remove(&home, s.name, true, &e) < 0)
			say_error(&e);
	}
	spec_done(&s);
	return status;
}
