#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/start.h"
#include "cli/ui.h"
#include "client/sandbox.h"
#include "client/visit.h"

static int run(struct execution *x, const struct args *a, const struct home *h, const char *name,
	       struct exec_result *result, bool *ret_ran, struct err *e)
{
	AUTO_RECORD record = RECORD_NONE;
	struct visit v;
	int r = visit_open(&v, h, name, start_one, e);

	*ret_ran = false;
	/* without a command the record says what to run */
	if (r == 0 && a->rest.n == 0)
		r = record_load(h, name, &record, e);
	if (r == 0 && execution_command(x, &record.spec, &a->rest, a->rest.n == 0)) {
		*ret_ran = true;
		r = client_exec(&v.client, &x->request, result, e);
	}
	visit_done(&v);
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
