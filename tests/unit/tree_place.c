#include "tree/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

/* Finds PATH in "/usr". Checks that the parent directory is PARENT and the name is NAME. */
static void place(const char *path, const char *parent, const char *name)
{
	AUTO_FD usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct tree_place p;
	char link[64], got[256] = "";
	struct err e;

	T_INT(tree_place(usr, path, "x", true, &p, &e), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p.dir);
	T_TRUE(readlink(link, got, sizeof(got) - 1) > 0);
	T_STR(got, parent);
	T_STR(p.name, name);
	close(p.dir);
}

static void paths_are_split(void)
{
	place("new", "/usr", "new");
	place("bin/new", "/usr/bin", "new");
	place("bin//new//", "/usr/bin", "new");
	place("/new", "/", "new");
	place("/usr/new/", "/usr", "new");
}

/* tree_place() writes the parent directory of PATH to a buffer, as "." or "/" if PATH is short. If
 * the buffer is too short for that, the sanitizer ends the test. */
static void paths_without_a_name_are_refused(void)
{
	static const char *const paths[] = { "", "/", "//", ".", "bin/..", "bin/." };
	struct tree_place p;
	struct err e;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		T_INT(tree_place(AT_FDCWD, paths[i], "x", true, &p, &e), -1);
		T_INT(e.code, ERR_INVALID);
	}
}

int main(void)
{
	T_RUN(paths_are_split);
	T_RUN(paths_without_a_name_are_refused);
	return t_end();
}
