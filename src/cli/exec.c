#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/ui.h"
#include "client/control.h"
#include "client/launch.h"
#include "client/sandbox.h"

/* Nobody listens: find out why, and start it when it is merely stopped. */
static int start_for_exec(const struct home *h, const char *name, struct record *r, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct launch l;
	int k;

	if (record_load(h, name, r, e) < 0)
		return -1;
	if (r->status != STATUS_STOPPED && r->status != STATUS_CRASHED)
		return err_set(e, ERR_BUSY, "sandbox '%s' is %s; try again when it is running",
			       name, status_lower(r->status));
	if (launch_start(h, name, &l, e) < 0)
		return -1;
	k = launch_wait(&l, &warnings, e);
	launch_done(&l);
	return k;
}

static int run(struct execution *x, const struct args *a, const struct home *h, const char *name,
	       struct exec_result *result, bool *ret_ran, struct err *e)
{
	AUTO_RECORD record = RECORD_NONE;
	struct client c;
	bool started = false;
	int r = client_open(&c, h, name, e);

	*ret_ran = false;
	if (r < 0 && e->code == ERR_NOT_RUNNING) {
		r = start_for_exec(h, name, &record, e);
		started = r == 0;
		if (started)
			r = client_open(&c, h, name, e);
	}
	/* without a command the record says what to run */
	if (r == 0 && a->rest.n == 0 && record.dir < 0)
		r = record_load(h, name, &record, e);
	if (r == 0 && execution_command(x, &record.spec, &a->rest, a->rest.n == 0)) {
		*ret_ran = true;
		r = client_exec(&c, &x->request, result, e);
	}
	client_done(&c);
	if (started) {
		struct err ignored;

		IGNORE(control_stop(h, name, CONTROL_GRACE_DEFAULT,
				    &ignored)); /* ours to stop again */
	}
	return r;
}

int cmd_exec(const struct args *a)
{
	const char *name = a->word.v[0];
	AUTO_HOME home = { .fd = -1 };
	struct exec_result result;
	struct execution x;
	struct err e = { 0 };
	bool ran;
	int status;

	if (execution_options(&x, a, &e) < 0)
		status = ui_error(&e);
	else if (home_open(&home, &e) < 0 || run(&x, a, &home, name, &result, &ran, &e) < 0)
		status = ui_error(&e);
	else if (!ran) {
		ui_warn("nothing to run: give a command after --");
		status = 0;
	} else {
		status = execution_report(&x, &home, name, &result);
	}
	execution_done(&x);
	return status;
}
