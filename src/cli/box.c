/* `box serve` replaces itself by the program cordon-box (exec). cordon-box has the same options and
 * does the work. */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program.h"
#include "base/say.h"
#include "cli/args.h"
#include "cli/commands.h"

static void pass_on(struct strv *argv, const struct args *a, const char *option)
{
	AUTO_FREE char *word = NULL;

	if (!args_has(a, option))
		return;
	word = xasprintf("--%s=%s", option, args_str(a, option));
	strv_add(argv, word);
}

int cmd_box_serve(const struct args *a)
{
	AUTO_FREE char *program = NULL;
	struct strv argv = { 0 };
	struct err e = { 0 };

	strv_add(&argv, "cordon-box");
	pass_on(&argv, a, "host");
	pass_on(&argv, a, "ws-control-port");
	if (args_has(a, "stdio-control"))
		strv_add(&argv, "--stdio-control");
	if (program_ours("cordon-box", &program, &e) == 0) {
		execv(program, argv.v);
		err_sys(&e, errno, "run '%s'", program);
	}
	strv_done(&argv);
	return say_error(&e);
}
