/*
 * cordon-image: pull, load, save and look after images. Called by `cordon`, which has parsed and
 * checked the user's command line; the one here is small and strict on purpose.
 */
#include <string.h>

#include "pull/command.h"
#include "pull/worker.h"

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "--worker") == 0)
		return worker_main(argc - 2, argv + 2);
	return command_main(argc, argv);
}
