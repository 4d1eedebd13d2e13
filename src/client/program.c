#include "client/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PATH_BYTES 4096

/* Our own path, at its last slash a NUL: the directory of all programs. */
static bool own_directory(char out[PATH_BYTES])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_BYTES - 1);

	if (n <= 0)
		return false;
	out[n] = '\0';
	*strrchr(out, '/') = '\0';
	return true;
}

int program_find(const char *name, char **ret, struct err *e)
{
	AUTO_FREE char *path = NULL;
	char self[PATH_BYTES];

	if (own_directory(self)) {
		path = xasprintf("%s/%s", self, name);
		if (access(path, X_OK) == 0) {
			*ret = TAKE(path);
			return 0;
		}
		free_p(&path);
	}
	path = xasprintf("%s/%s", CORDON_LIBEXECDIR, name);
	if (access(path, X_OK) < 0) {
		err_sys(e, errno, "find program '%s'", name);
		return err_hint(e, "cordon's programs stay together in libexec/cordon: link to "
				   "'cordon' there, do not copy it alone");
	}
	*ret = TAKE(path);
	return 0;
}

void program_tell_children(void)
{
	const char *given = getenv("MSB_PATH");
	AUTO_FREE char *up = NULL;
	AUTO_FREE char *bin = NULL;
	AUTO_FREE char *path = NULL;
	char self[PATH_BYTES];

	if ((given && *given) || !own_directory(self))
		return;
	/* as installed: the link of that name is in PREFIX/bin, programs in PREFIX/libexec/cordon */
	up = xasprintf("%s/../../bin", self);
	bin = realpath(up, NULL);
	path = xasprintf("%s/msb", bin ? bin : self);
	if (access(path, X_OK) < 0) {
		free(path);
		path = xasprintf("%s/cordon", self);
	}
	IGNORE(setenv("MSB_PATH", path, 1)); /* who needs it looks in PATH then */
}
