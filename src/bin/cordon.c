/* The program `cordon`. Each of its commands is a row of the table in cli/commands.c. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"

int main(int argc, char **argv)
{
	/* the process that started us may have closed descriptors 0 to 2; a file that we open
	 * must not become stdout */
	while (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0)
		/* allowed: stays open on purpose, also for our children */
		if (open("/dev/null", O_RDWR) < 0)
			return 1;
	signal(SIGPIPE, SIG_IGN); /* if the reader is gone, write() must fail and not kill us */
	signal(SIGCHLD, SIG_DFL); /* if SIGCHLD stays ignored, we do not learn how a child ended */
	return args_main(&cordon_root, argc, argv);
}
