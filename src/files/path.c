#include "files/path.h"

#include <errno.h>

/* Removes the last component of OUT. Returns false if OUT has none. */
static bool climb(struct buf *out)
{
	size_t n = out->n;

	if (n == 0)
		return false;
	while (n > 0 && out->p[n - 1] != '/')
		n--;
	buf_cut(out, n ? n - 1 : 0);
	return true;
}

int path_from_top(const char *top, struct str path, struct buf *out)
{
	size_t n = strlen(top);
	struct str rest = path;

	if (path.n > PATH_MAX_BYTES)
		return -ENAMETOOLONG;
	if (path.n && path.p[0] == '/') {
		if (path.n < n || memcmp(path.p, top, n) != 0 || (path.n > n && path.p[n] != '/'))
			return -EINVAL;
		rest = (struct str){ path.p + n, path.n - n };
	}
	while (rest.p) {
		struct str name = str_cut(&rest, '/');

		if (name.n == 0 || str_eq(name, "."))
			continue;
		if (str_eq(name, "..")) {
			if (!climb(out))
				return -EXDEV;
			continue;
		}
		if (out->n)
			buf_add_char(out, '/');
		buf_add(out, name.p, name.n);
	}
	return buf_failed(out) ? -ENAMETOOLONG : 0;
}
