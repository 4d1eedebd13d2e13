#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/start.h"
#include "client/sandbox.h"
#include "client/visit.h"

/* If the command line has no command, fills RECORD, which then says what to run. */
static int run(struct execution *x, const struct args *a, const struct home *h,
	       struct record *record, struct exec_result *result, bool *ret_ran, struct err *e)
{
	const char *name = a->word.v[0];
	struct visit v;
	int r = visit_open(&v, h, name, start_one, e);

	*ret_ran = false;
	if (r == 0 && a->rest.n == 0)
		r = record_load(h, name, record, e);
	if (r == 0 && execution_command(x, &record->spec, &a->rest, a->rest.n == 0)) {
		*ret_ran = true;
		x->request.message.flags |= v.started ? EXEC_QUITS : 0;
		r = execution_run(x, &v.client, result, e);
	}
	visit_done(&v);
	return r;
}

int cmd_exec(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE; /* the words to run may point into the record */
	struct exec_result result;
	struct execution x;
	struct err e = { 0 };
	bool ran;
	int status;

	if (execution_options(&x, a, &e) < 0)
		status = say_error(&e);
	else if (home_open(&home, &e) < 0 || run(&x, a, &home, &record, &result, &ran, &e) < 0)
		status = say_error(&e);
	else if (!ran) {
		say_warn("nothing to run: give a command after --");
		status = 0;
	} else {
		status = execution_report(&x, &home, a->word.v[0], &result);
	}
	execution_done(&x);
	return status;
}
