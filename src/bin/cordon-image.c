/*
 * cordon-image: pull, load, save and look after images. Called by `cordon`, which has parsed and
 * checked the user's command line; the one here is small and strict on purpose.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/confine.h"
#include "pull/command.h"
#include "pull/worker.h"

/* Root's keeps what gives files of layers their owners and modes (its workers inherit no more). An
 * ordinary user's has nothing to give up, and needs the set-user-id newuidmap for its workers. */
static int drop_capabilities(bool mounts, struct err *e)
{
	uint64_t keep = CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_DAC_OVERRIDE) |
			CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_FSETID) |
			CONFINE_CAP(CAP_SETFCAP);

	if (mounts)
		keep |= CONFINE_CAP(CAP_SYS_ADMIN);
	return geteuid() != 0 ? 0 : confine_capabilities(keep, e);
}

/* It mounts a disk that it has just made, and speaks to no network. */
static bool is_flatten(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "flatten") == 0;
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc >= 3 && strcmp(argv[1], "--worker") == 0)
		return worker_main(argc - 2, argv + 2);
	if (drop_capabilities(is_flatten(argc, argv), &e) < 0) {
		fprintf(stderr, "error: %s\n", e.msg);
		return 1;
	}
	return command_main(argc, argv);
}
