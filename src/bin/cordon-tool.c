/* Makes one call of the Box service, for `cordon tool` or `cordon service`. `tool` runs a tool for
 * a model. `service` asks the service something, runs a command, or ends sessions. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/say.h"
#include "endpoint/interrupt.h"
#include "tool/program.h"

#define TOOL_USAGE                                                                          \
	"usage: cordon-tool tool [--config FILE] [--session ID] [--query JSON]\n"           \
	"                        [--workspace DIR[:ro]] [--output-limit N] NAME JSON\n"     \
	"       cordon-tool service status|sessions|errors|resolve|exec|cleanup [OPTIONS] " \
	"[JSON]\n"

static int hold_signals(struct interrupt *i, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &i->before) < 0)
		return err_sys(e, errno, "block signals");
	i->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (i->fd >= 0)
		return 0;
	err_sys(e, errno, "watch signals");
	IGNORE(sigprocmask(SIG_SETMASK, &i->before, NULL)); /* the caller gets the error above */
	return -1;
}

static void release_signals(struct interrupt *i)
{
	while (interrupt_signal(i))
		;
	fd_closep(&i->fd);
	IGNORE(sigprocmask(SIG_SETMASK, &i->before, NULL)); /* cannot fail */
}

int main(int argc, char **argv)
{
	static const struct interrupts interrupts = { hold_signals, release_signals };
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
	return tool_program(&o, &interrupts);
}
