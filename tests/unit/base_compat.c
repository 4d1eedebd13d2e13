/* Tests lookups of paths with `..` while another process renames a directory. */
#include "base/compat.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t.h"

#define LOOKUPS 100000 /* if no lookup were tried again, at least 5000 would fail */

/* Renames a directory to and fro until the test kills this process. */
static pid_t rename_for_ever(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (rename("here", "there") == 0 && rename("there", "here") == 0)
		continue;
	_exit(1);
}

static void a_lookup_survives_the_renames_of_others(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char place[] = "/tmp/cordon-unit-XXXXXX";
	unsigned failures = 0;
	pid_t other;
	int dir;

	T_TRUE(mkdtemp(place) && chdir(place) == 0);
	T_TRUE(mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 && mkdir("here", 0700) == 0);
	dir = open("a", O_PATH | O_DIRECTORY | O_CLOEXEC);
	other = rename_for_ever();
	for (unsigned i = 0; i < LOOKUPS; i++) {
		int fd = sys_openat2(dir, "b/../b/../b/../b", &how);

		if (fd < 0)
			failures++;
		else
			close(fd);
	}
	T_INT(failures, 0);
	T_INT(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	T_INT(waitpid(other, NULL, 0), other);
	close(dir);
	rmdir("a/b");
	rmdir("a");
	rmdir("here");
	rmdir("there");
	T_INT(chdir("/") == 0 && rmdir(place) == 0, 1);
}

int main(void)
{
	T_RUN(a_lookup_survives_the_renames_of_others);
	return t_end();
}
