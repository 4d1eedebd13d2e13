#include "base/cleanup.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/start.h"
#include "base/json.h"
#include "client/commands.h"
#include "client/sandbox.h"
#include "client/visit.h"

#define ANSWER_MAX_BYTES 1024u

/* Makes the command independent of our terminal. With `--tty` the command gets a terminal of its
 * own, which `attach` can use. */
static void detach(struct execution *x, const struct args *a)
{
	unsigned unwanted = args_has(a, "tty") ? EXEC_JOINED : EXEC_TTY | EXEC_JOINED;

	x->scripted = false;
	x->request.message.flags &= ~unwanted;
	x->request.message.flags |= EXEC_BACKGROUND | EXEC_DETACHED;
}

/* Runs the command. If pid 1 cannot keep more background commands, makes pid 1 forget one that
 * has ended, and tries again. */
static int execute(struct execution *x, struct client *c, struct exec_result *result, struct err *e)
{
	int r = execution_run(x, c, result, e);

	if (r < 0 && x->request.message.flags & EXEC_BACKGROUND && e->code == ERR_LIMIT &&
	    commands_forget_oldest(c))
		r = execution_run(x, c, result, e);
	return r;
}

static int print_number(const struct args *a, uint64_t id)
{
	AUTO_BUF b = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w;

	if (!args_has(a, "format")) {
		buf_addf(&b, "%llu\n", (unsigned long long)id);
		return say_output(&b);
	}
	json_writer_init(&w, &b, 2);
	json_begin_object(&w);
	json_key_int(&w, "id", (int64_t)id);
	json_key_str(&w, "name", a->word.v[0]);
	json_end_object(&w);
	buf_add_char(&b, '\n');
	return say_output(&b);
}

/* Runs the command, and first starts the sandbox if needed. If the command line has no command,
 * loads RECORD, which says what to run. *RET_RAN is false if there was nothing to run. */
static int run(struct execution *x, const struct args *a, const struct home *h,
	       struct record *record, struct exec_result *result, bool *ret_ran, struct err *e)
{
	const char *name = a->word.v[0];
	bool given = a->rest.n > 0;
	struct visit v;
	int r;

	*ret_ran = false;
	if (!given && record_load(h, name, record, e) < 0)
		return -1;
	/* before the sandbox is started, find out whether there is something to run: a command, or
	 * a script on stdin */
	if (!execution_command(x, &record->spec, &a->rest, !given))
		return 0;
	r = visit_open(&v, h, name, start_one, e);
	if (r == 0) {
		*ret_ran = true;
		x->request.message.flags |= v.started ? EXEC_QUITS : 0;
		r = execute(x, &v.client, result, e);
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

	if (execution_options(&x, a, &e) == 0 && args_has(a, "stream") && x.interactive)
		err_set(&e, ERR_INVALID, "--stream does not go with a terminal on stdin");
	if (e.code) {
		execution_done(&x);
		return say_error(&e);
	}
	if (args_has(a, "detach"))
		detach(&x, a);
	if (home_open(&home, &e) < 0 || run(&x, a, &home, &record, &result, &ran, &e) < 0)
		status = say_error(&e);
	else if (!ran) {
		status = execution_nothing(a);
	} else if (args_has(a, "detach") && !result.end.failure) {
		status = print_number(a, result.id);
	} else {
		status = execution_report(&x, &home, a->word.v[0], &result);
	}
	execution_done(&x);
	return status;
}
