/* The command line; every subcommand is a row of cli/commands.c. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"

int main(int argc, char **argv)
{
	/* a caller may have closed these three; what we open next must not become stdout */
	while (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0)
		if (open("/dev/null", O_RDWR) < 0) /* allowed: stays open for our children */
			return 1;
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write() */
	signal(SIGCHLD, SIG_DFL); /* if a caller ignores it, we would not learn how a child ended */
	return args_main(&cordon_root, argc, argv);
}
