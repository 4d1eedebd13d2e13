/* Tests where programs are found: programs of the user only in PATH, programs of the system in
 * fixed directories, and our own programs beside this program. */
#include "base/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

#define NAME "a-program-of-nobody-else"

static char dir[] = "/tmp/cordon-unit-XXXXXX";

static void make(const char *name, unsigned mode)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	T_INT(fd >= 0 && fchmod(fd, mode) == 0, 1);
}

static void programs_of_the_user_are_in_path(void)
{
	AUTO_FREE char *path = xasprintf("relative::/nowhere:%s", dir);
	AUTO_FREE char *want = xasprintf("%s/" NAME, dir);
	AUTO_FREE char *found = NULL;

	T_INT(setenv("PATH", path, 1), 0);
	found = program_of_user(NAME);
	T_STR(found, want);
	T_INT(program_of_user("plain") == NULL, 1);
	/* an empty or relative entry of PATH would mean the current directory, so it is skipped */
	T_INT(chdir(dir), 0);
	T_INT(setenv("PATH", ":.", 1), 0);
	T_INT(program_of_user(NAME) == NULL, 1);
}

static void programs_of_the_system_are_not_in_path(void)
{
	AUTO_FREE char *sh = NULL;

	T_INT(setenv("PATH", dir, 1), 0);
	T_INT(program_of_system(NAME) == NULL, 1);
	sh = program_of_system("sh");
	T_STR(sh, "/usr/bin/sh");
}

static void programs_of_cordon_are_beside_us(void)
{
	AUTO_FREE char *self = realpath("/proc/self/exe", NULL);
	AUTO_FREE char *found = NULL;
	struct err e;

	T_INT(setenv("PATH", dir, 1), 0);
	T_INT(program_ours(strrchr(self, '/') + 1, &found, &e), 0);
	T_STR(found, self);
	T_INT(program_ours(NAME, &found, &e), -1);
	T_STR(e.msg, "find program '" NAME "': No such file or directory");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	make(NAME, 0700);
	make("plain", 0600);
	T_RUN(programs_of_the_user_are_in_path);
	T_RUN(programs_of_the_system_are_not_in_path);
	T_RUN(programs_of_cordon_are_beside_us);
	T_INT(chdir(dir), 0);
	if (unlink(NAME) < 0 || unlink("plain") < 0 || rmdir(dir) < 0)
		return 1;
	return t_end();
}
