#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/execution.h"
#include "client/sandbox.h"
#include "spec/grammar.h"

static int attach(const struct args *a, const struct home *h, struct execution *x,
		  struct exec_result *result, struct err *e)
{
	const char *name = a->word.v[0];
	const char *keys = args_str(a, "detach-keys");
	struct client c;
	int r;

	if (parse_detach_keys(keys ? keys : "ctrl-]", x->request.detach_keys,
			      &x->request.n_detach_keys, e) < 0)
		return -1;
	if (a->word.n > 1 && parse_u64(a->word.v[1], 1, UINT32_MAX, &x->request.attach_id) < 0)
		return err_set(e, ERR_INVALID, "bad session '%s': expected a number from 1 to %u",
			       a->word.v[1], UINT32_MAX);
	r = client_open(&c, h, name, e);
	if (r < 0 && e->code == ERR_NOT_RUNNING) {
		AUTO_RECORD record = RECORD_NONE;

		if (record_load(h, name, &record, e) == 0)
			err_set(e, ERR_NOT_RUNNING,
				"sandbox '%s' is not running (status: %s); cannot attach", name,
				status_name(record.status));
	}
	if (r == 0) {
		x->request.resized = console_begin(true);
		r = client_attach(&c, &x->request, result, e);
		console_end(x->request.resized);
		if (r < 0 && (e->code == ERR_NOT_FOUND || e->code == ERR_BUSY))
			err_wrap(e, "sandbox '%s'", name);
	}
	client_done(&c);
	return r;
}

int cmd_attach(const struct args *a)
{
	struct execution x = { .request = { .in = 0, .out = 1, .err = 2, .log = true } };
	AUTO_HOME home = { .fd = -1 };
	struct exec_result result;
	struct err e = { 0 };

	x.request.message.flags = EXEC_TTY;
	if (home_open(&home, &e) < 0 || attach(a, &home, &x, &result, &e) < 0)
		return say_error(&e);
	return execution_report(&x, &home, a->word.v[0], &result);
}
