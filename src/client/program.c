#include "client/program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int program_find(const char *name, char **ret, struct err *e)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	AUTO_FREE char *path = NULL;

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		path = xasprintf("%s/%s", self, name);
		if (access(path, X_OK) == 0) {
			*ret = TAKE(path);
			return 0;
		}
		free_p(&path);
	}
	path = xasprintf("%s/%s", CORDON_LIBEXECDIR, name);
	if (access(path, X_OK) < 0)
		return err_sys(e, errno, "find program '%s'", name);
	*ret = TAKE(path);
	return 0;
}
