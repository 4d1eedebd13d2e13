#include "base/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define SYSTEM_PATH "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
#define USER_PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin" /* used if the environment has no PATH */

/* Returns the path of NAME in the directory DIR. If NAME cannot be executed there, returns NULL and
 * sets errno. */
static char *find_in(struct str dir, const char *name)
{
	AUTO_FREE char *path = xasprintf("%.*s/%s", (int)dir.n, dir.p, name);

	return access(path, X_OK) == 0 ? TAKE(path) : NULL;
}

static char *find_along(const char *directories, const char *name)
{
	struct str rest = str_of(directories);
	char *path = NULL;

	while (!path && rest.p) {
		struct str dir = str_cut(&rest, ':');

		path = dir.n > 0 && dir.p[0] == '/' ? find_in(dir, name) : NULL;
	}
	return path;
}

int program_ours(const char *name, char **ret, struct err *e)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	const char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;
	char *path = slash ? find_in((struct str){ self, (size_t)(slash - self) }, name) : NULL;

	if (!path)
		path = find_in(str_of(CORDON_LIBEXECDIR), name);
	if (!path) {
		err_sys(e, errno, "find program '%s'", name);
		return err_hint(e, "cordon's programs stay together in libexec/cordon: link to "
				   "'cordon' there, do not copy it alone");
	}
	*ret = path;
	return 0;
}

char *program_of_system(const char *name)
{
	return find_along(SYSTEM_PATH, name);
}

char *program_of_user(const char *name)
{
	const char *path = getenv("PATH");

	return find_along(path ? path : USER_PATH_DEFAULT, name);
}
