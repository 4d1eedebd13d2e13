/* The Box server for LangBot. The first process is the parent (box/parent.h). The parent starts
 * this program once more, as the server process that reads what peers send (box/serve.h). */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/say.h"
#include "box/parent.h"
#include "box/serve.h"

static const char usage[] =
	"usage: cordon-box [--host ADDR] [--ws-control-port N] [-s]\n"
	"\n"
	"Serves LangBot's Box runtime: sandboxes for its agents, by RPC over a WebSocket, or over "
	"standard input and output.\n"
	"\n"
	"      --host ADDR          where to listen (127.0.0.1; 0.0.0.0 if there is a token)\n"
	"      --ws-control-port N  the port of all routes (5410; 0: the kernel chooses)\n"
	"  -s, --stdio-control      the RPC is on standard input and output\n"
	"      --version            print the version\n"
	"  -h, --help               this text\n"
	"\n"
	"LANGBOT_BOX_CONTROL_TOKEN, LANGBOT_BOX_TRUSTED_INSTANCE_UUID, LANGBOT_BOX_CONFIG and\n"
	"LANGBOT_BOX_ALLOW_LEGACY_CLIENTS are described in cordon-box(1).\n";

/* Raises our limit of open files to the hard limit. Returns the old soft limit, which sandboxes
 * get. */
static uint64_t raise_nofile(void)
{
	struct rlimit l;
	uint64_t soft;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 1024;
	soft = l.rlim_cur;
	l.rlim_cur = l.rlim_max;
	/* if this fails, the server can have fewer sessions */
	IGNORE(setrlimit(RLIMIT_NOFILE, &l));
	return soft;
}

int main(int argc, char **argv)
{
	struct settings s;
	char warning[256];
	struct err e;
	int status = 0;

	if (settings_read(&s, argc, argv, warning, &e) < 0)
		return say_error(&e);
	log_set("info", "cordon-box", true);
	if (s.help) {
		fputs(usage, stdout);
	} else if (s.version) {
		puts("cordon-box " CORDON_VERSION);
	} else if (s.serve) {
		signal(SIGPIPE, SIG_IGN);
		status = serve(&s);
	} else {
		if (*warning)
			say_warn("%s", warning);
		status = parent(&s, raise_nofile(), argc, argv);
	}
	settings_done(&s);
	return status;
}
