#include "spec/grammar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Copies the components of P to OUT, which has room for strlen(P) + 2 bytes. If DOTDOT is true,
 * ".." removes the component before it. Otherwise ".." stays, because the component before it may
 * be a symbolic link. */
static void collapse(const char *p, char *out, bool dotdot)
{
	size_t n = 0;

	while (*p) {
		size_t len = strcspn(p, "/");

		if (dotdot && len == 2 && memcmp(p, "..", 2) == 0) {
			while (n > 0 && out[--n] != '/')
				;
		} else if (len > 0 && !(len == 1 && *p == '.')) {
			out[n++] = '/';
			memcpy(out + n, p, len);
			n += len;
		}
		p += len;
		p += strspn(p, "/");
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
}

char *path_normalise(const char *p)
{
	char *out;

	if (*p != '/')
		return NULL;
	out = xcalloc(1, strlen(p) + 2);
	collapse(p, out, true);
	return out;
}

bool path_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

const char *path_reserved(const char *guest)
{
	static const char *const places[] = { "/proc", "/sys", "/dev", "/.msb" };

	if (path_below("/dev/shm", guest))
		return NULL; /* allowed, because users may want a larger /dev/shm */
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (path_below(places[i], guest))
			return places[i];
	return NULL;
}

bool path_is_host(const char *p)
{
	return *p == '/' || starts_with(p, "./") || starts_with(p, "../") || strcmp(p, ".") == 0 ||
	       strcmp(p, "..") == 0;
}

int path_absolute(const char *p, char **ret, struct err *e)
{
	AUTO_FREE char *whole = NULL;

	if (*p == '/') {
		whole = xstrdup(p);
	} else {
		AUTO_FREE char *cwd = getcwd(NULL, 0);

		if (!cwd)
			return err_sys(e, errno, "find the current directory for '%s'", p);
		whole = xasprintf("%s/%s", cwd, p);
	}
	*ret = xcalloc(1, strlen(whole) + 2);
	collapse(whole, *ret, false);
	return 0;
}
