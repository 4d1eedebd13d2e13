/* `tool` and `service` replace themselves by the program cordon-tool (exec). cordon-tool has the
 * same options and does the work. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/commands.h"

static void pass_options(struct strv *argv, const struct args *a)
{
	const char *option, *value;
	size_t at = 0;

	while ((value = args_next_value(a, &at, &option))) {
		AUTO_FREE char *word = xasprintf("--%s=%s", option, value);

		strv_add(argv, word);
	}
}

/* VERB is NULL for `tool`, whose first word is the name of a tool. */
static int become(const struct args *a, const char *group, const char *verb)
{
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	struct err e = { 0 };

	strv_add(&argv, "cordon-tool");
	pass_options(&argv, a);
	if (args_has(a, "standalone-box"))
		strv_add(&argv, "--standalone-box");
	strv_add(&argv, "--");
	strv_add(&argv, group);
	if (verb)
		strv_add(&argv, verb);
	for (size_t i = 0; i < a->word.n; i++)
		strv_add(&argv, a->word.v[i]);
	if (program_ours("cordon-tool", &program, &e) == 0) {
		execv(program, argv.v);
		err_sys(&e, errno, "run '%s'", program);
	}
	strv_done(&argv);
	return say_error(&e);
}

int cmd_tool(const struct args *a)
{
	return become(a, "tool", NULL);
}

int cmd_service_status(const struct args *a)
{
	return become(a, "service", "status");
}

int cmd_service_sessions(const struct args *a)
{
	return become(a, "service", "sessions");
}

int cmd_service_errors(const struct args *a)
{
	return become(a, "service", "errors");
}

int cmd_service_resolve(const struct args *a)
{
	return become(a, "service", "resolve");
}

int cmd_service_exec(const struct args *a)
{
	return become(a, "service", "exec");
}

int cmd_service_cleanup(const struct args *a)
{
	return become(a, "service", "cleanup");
}
