#include "files/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/str.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(struct listing *l, const char *name)
{
	/* the array is full if n is 0 or a power of two */
	if ((l->n & (l->n - 1)) == 0)
		l->name = xreallocarray(l->name, l->n ? 2 * l->n : 1, sizeof(*l->name));
	l->name[l->n++] = xstrdup(name);
}

int listing_read(int fd, struct listing *ret)
{
	AUTO_DIR d = fdopendir(fd);
	const struct dirent *x;

	*ret = (struct listing){ 0 };
	if (!d) {
		int r = -errno;

		close(fd);
		return r;
	}
	while ((x = dir_next(d)) && ret->total < LISTING_SCAN_MAX) {
		ret->total++;
		add(ret, x->d_name);
	}
	qsort(ret->name, ret->n, sizeof(*ret->name), by_name);
	ret->too_many = x || ret->n > LISTING_NAMES_MAX;
	while (ret->n > LISTING_NAMES_MAX)
		free(ret->name[--ret->n]);
	return 0;
}

void listing_done(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
	*l = (struct listing){ 0 };
}

static void print_name(const char *name, struct buf *out)
{
	struct str rest = str_of(name);

	for (bool first = true; rest.p; first = false) {
		struct str part = str_cut(&rest, '\n');

		buf_add_str(out, first ? "" : "\xef\xbf\xbd");
		buf_add_utf8(out, part.p, part.n);
	}
}

bool listing_print(const struct listing *l, size_t max_bytes, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t before = out->n;

		if (i)
			buf_add_char(out, '\n');
		print_name(l->name[i], out);
		if (out->n > max_bytes) {
			buf_cut(out, before);
			return false;
		}
	}
	return true;
}
