/* Makes one call of the Box service for `cordon tool`. A call runs a tool for a model, or asks
 * the service something. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/say.h"
#include "tool/program.h"

#define TOOL_USAGE                                                                          \
	"usage: cordon-tool tool [--config FILE] [--session ID] [--query JSON]\n"           \
	"                        [--workspace DIR[:ro]] [--output-limit N] NAME JSON\n"     \
	"       cordon-tool service status|sessions|errors|resolve|exec|cleanup [OPTIONS] " \
	"[JSON]\n"

int main(int argc, char **argv)
{
	struct options o;
	struct err e = { 0 };

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cordon-tool %s\n", CORDON_VERSION);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	log_set("warn", "cordon-tool", true);
	if (options_read(&o, argc, argv, &e) < 0) {
		int status = say_error(&e);

		fputs(TOOL_USAGE, stderr);
		return status;
	}
	return tool_program(&o);
}
