#include "files/entry.h"

#include <errno.h>

#include "files/path.h"

#define SECONDS_MAX (1ull << 40) /* far in the future, and fits every type of time */

static bool is_path(struct str path)
{
	if (path.n == 0 || path.n > PATH_MAX_BYTES || memchr(path.p, '\0', path.n))
		return false;
	while (path.p) {
		struct str name = str_cut(&path, '/');

		if (name.n == 0 || str_eq(name, ".") || str_eq(name, ".."))
			return false;
	}
	return true;
}

int entry_read(struct str line, struct entry *ret)
{
	struct str rest = line, seconds = str_cut(&rest, ' '), size;
	struct entry x;

	if (!rest.p)
		return -EINVAL;
	size = str_cut(&rest, ' ');
	if (!rest.p || rest.n < 2 || memcmp(rest.p, "./", 2) != 0 ||
	    parse_u64_str(seconds, 0, SECONDS_MAX, &x.changed_sec) < 0 ||
	    parse_u64_str(size, 0, INT64_MAX, &x.size) < 0)
		return -EINVAL;
	x.path = (struct str){ rest.p + 2, rest.n - 2 };
	if (!is_path(x.path))
		return -EINVAL;
	*ret = x;
	return 0;
}
