/* Owns one live sandbox; see supervisor/supervisor.h. Started by client/launch.c. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "supervisor/supervisor.h"

int main(int argc, char **argv)
{
	static struct supervisor s;

	umask(022); /* what we make for the sandbox, and its commands, do not depend on the caller's */
	if (argc == 2 && strcmp(argv[1], "--sweep") == 0)
		return supervisor_sweep();
	if (argc == 2 && strcmp(argv[1], "--wipe") == 0)
		return supervisor_wipe();
	if (argc == 3 && strcmp(argv[1], "--reap") == 0)
		return supervisor_reap(argv[2]);
	if (argc != 2 || fcntl(SUPERVISOR_FD_LEASH, F_GETFD) < 0) {
		fprintf(stderr, "cordon-supervisor: started by cordon, not by hand\n");
		return 2;
	}
	s.record_dir = SUPERVISOR_FD_RECORD;
	s.lock = SUPERVISOR_FD_LOCK;
	s.leash = SUPERVISOR_FD_LEASH;
	s.connection = fcntl(SUPERVISOR_FD_CONNECTION, F_GETFD) < 0 ? -1 : SUPERVISOR_FD_CONNECTION;
	s.guest_listener = s.control = -1;
	for (int fd = SUPERVISOR_FD_RECORD; fd <= SUPERVISOR_FD_CONNECTION; fd++)
		IGNORE(fcntl(fd, F_SETFD, FD_CLOEXEC)); /* the last one may be absent */
	s.record.dir = -1;
	if (home_open(&s.home, &s.failure) < 0 ||
	    record_read_config(s.record_dir, &s.record, &s.failure) < 0)
		return 1;
	log_set(s.record.spec.log_level, "supervisor", true);
	IGNORE(state_read(s.record_dir, &s.record.state)); /* absent at the first start */
	return supervisor_run(&s);
}
