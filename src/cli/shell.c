/*
 * `shell` opens a shell in a sandbox. It is the shell that was chosen when the sandbox was made,
 * otherwise bash, otherwise /bin/sh.
 *
 * To find out whether the sandbox has bash, we must run it. So we first run bash without input. If
 * we ran bash with our input, and then /bin/sh because bash is missing, the input that was already
 * read for bash would be lost.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/execution.h"
#include "cli/start.h"
#include "client/sandbox.h"
#include "client/visit.h"

/* Returns true if the sandbox has bash, and the user of X may run it. */
static bool has_bash(const struct execution *x, struct client *c)
{
	const char *words[] = { "bash", "-c", ":", NULL };
	const struct exec_request probe = {
		.message = { .flags = EXEC_NO_INPUT,
			     .argv = words,
			     .n_argv = 3,
			     .user = x->request.message.user },
		.in = -1,
		.out = -1,
		.err = -1,
		.resized = -1,
	};
	struct exec_result result;
	struct err ignored;

	return client_exec(c, &probe, &result, &ignored) == 0 && !result.end.failure;
}

/* Returns the shell that was chosen when the sandbox was made. Returns NULL if this is the default
 * shell, which the record also names if the user chose none. */
static const char *chosen_shell(const struct record *r)
{
	const char *shell = record_in_force(r)->shell;

	return shell && strcmp(shell, SPEC_DEFAULT_SHELL) != 0 ? shell : NULL;
}

/* Runs a shell in the sandbox NAME until the shell ends. Loads *RECORD, which then holds the name
 * of the shell. So the caller must keep *RECORD until it has reported how the shell ended. */
static int run(struct execution *x, const struct home *h, const char *name, struct record *record,
	       struct exec_result *result, struct err *e)
{
	struct exec_message *m = &x->request.message;
	struct visit v;
	int r = visit_open(&v, h, name, start_one, e);

	if (r == 0)
		r = record_load(h, name, record, e);
	if (r == 0) {
		const char *own = chosen_shell(record);

		x->argv = xcalloc(2, sizeof(*x->argv));
		x->argv[0] = own ? own : has_bash(x, &v.client) ? "bash" : SPEC_DEFAULT_SHELL;
		m->argv = x->argv;
		m->n_argv = 1;
		m->flags |= v.started ? EXEC_QUITS : 0;
		r = execution_run(x, &v.client, result, e);
	}
	visit_done(&v);
	return r;
}

/* Without a name, the shell runs in a new sandbox of the project. `run` can make this sandbox, so
 * `shell` replaces itself by `run` (exec). */
static int become_run(const struct args *a)
{
	static const char *const flags[] = { "tty", "no-tty", "quiet" };
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	const char *option, *value;
	struct err e = { 0 };
	size_t at = 0;

	strv_add(&argv, "cordon");
	strv_add(&argv, "run");
	strv_add(&argv, "--open-shell");
	while ((value = args_next_value(a, &at, &option))) {
		AUTO_FREE char *word = xasprintf("--%s=%s", option, value);

		strv_add(&argv, word);
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		AUTO_FREE char *word = xasprintf("--%s", flags[i]);

		if (args_has(a, flags[i]))
			strv_add(&argv, word);
	}
	if (program_ours("cordon", &program, &e) == 0) {
		execv(program, argv.v);
		err_sys(&e, errno, "run '%s'", program);
	}
	strv_done(&argv);
	return say_error(&e);
}

int cmd_shell(const struct args *a)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD record = RECORD_NONE;
	const char *name = a->word.v[0];
	struct exec_result result;
	struct execution x;
	struct err e = { 0 };
	int status;

	if (a->word.n == 0)
		return become_run(a);
	if (execution_options(&x, a, &e) < 0 || home_open(&home, &e) < 0 ||
	    run(&x, &home, name, &record, &result, &e) < 0)
		status = say_error(&e);
	else
		status = execution_report(&x, &home, name, &result);
	execution_done(&x);
	return status;
}
