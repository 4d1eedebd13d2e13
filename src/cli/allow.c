#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/grants.h"
#include "cli/project.h"

/* Takes back the permission of the project file. Does not parse the project file, because it may be
 * broken by now. */
static int forget(const struct home *h, struct project *p, struct err *e)
{
	bool was;

	if (project_forget(p, h, &was, e) < 0)
		return -1;
	if (was)
		say_done("Forgot", p->file[0].path, 0);
	else
		say_already("Forgot", p->file[0].path, "was not allowed");
	return 0;
}

static int ask(const struct args *a, const struct home *h, struct project *p, struct err *e)
{
	struct conf_extra x = { 0 };
	struct spec s;
	int r;

	spec_init(&s);
	r = project_load(p, NULL, &s, &x, e);
	if (r == 0 && !p->dir)
		r = err_set(e, ERR_NOT_FOUND, "no " PROJECT_FILE " here or in a directory above");
	else if (r == 0 && args_has(a, "yes"))
		r = grants_show(p, &s, &x, e);
	else if (r == 0 && !project_can_ask())
		r = err_set(e, ERR_INVALID,
			    "cannot ask whether to allow '%s': standard input or standard error is "
			    "no terminal\n"
			    "run this at a terminal, or answer in advance with --yes",
			    p->file[0].path);
	else if (r == 0)
		r = project_ask(p, &s, &x, e);
	if (r == 0 && (r = project_allow(p, h, e)) == 0)
		say_done("Allowed", p->file[0].path, 0);
	conf_extra_done(&x);
	spec_done(&s);
	return r;
}

int cmd_allow(const struct args *a)
{
	struct project project = PROJECT_NONE;
	AUTO_HOME home = { .fd = -1 };
	struct err e = { 0 };
	int r = home_open(&home, &e);

	if (r == 0 && !args_has(a, "forget")) {
		r = ask(a, &home, &project, &e);
	} else if (r == 0) {
		r = project_find(&project, &e);
		if (r == 0 && !project.dir)
			r = err_set(&e, ERR_NOT_FOUND,
				    "no " PROJECT_FILE " here or in a directory above");
		if (r == 0)
			r = forget(&home, &project, &e);
	}
	project_done(&project);
	return r < 0 ? say_error(&e) : 0;
}
