#include "host/idmap.h"

#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/io.h"

/* Cuts the next number from the front of REST, with the blanks before it. Returns 0, or -EINVAL if
 * there is no number of at most MAX. */
static int number_cut(struct str *rest, uint64_t max, uint32_t *ret)
{
	struct str digits;
	uint64_t v;
	int r;

	while (rest->n > 0 && (*rest->p == ' ' || *rest->p == '\t')) {
		rest->p++;
		rest->n--;
	}
	digits = (struct str){ rest->p, 0 };
	while (digits.n < rest->n && rest->p[digits.n] != ' ' && rest->p[digits.n] != '\t')
		digits.n++;
	r = parse_u64_str(digits, 0, max, &v);
	if (r < 0)
		return -EINVAL;
	rest->p += digits.n;
	rest->n -= digits.n;
	*ret = (uint32_t)v;
	return 0;
}

static bool line_sane(const struct idmap_line *l)
{
	return l->count > 0 && (uint64_t)l->inside + l->count <= UINT32_MAX &&
	       (uint64_t)l->outside + l->count <= UINT32_MAX;
}

int idmap_parse(struct str text, struct idmap *ret)
{
	ret->n = 0;
	while (text.p) {
		struct str line = str_cut(&text, '\n');
		struct idmap_line l;

		if (line.n == 0)
			continue;
		if (ret->n == IDMAP_LINES_MAX || number_cut(&line, UINT32_MAX, &l.inside) < 0 ||
		    number_cut(&line, UINT32_MAX, &l.outside) < 0 ||
		    number_cut(&line, UINT32_MAX, &l.count) < 0 || line.n != 0 || !line_sane(&l))
			return -EINVAL;
		ret->line[ret->n++] = l;
	}
	return 0;
}

int idmap_read(const char *path, struct idmap *ret)
{
	char room[256];
	AUTO_BUF text = BUF_IN(room, IDMAP_TEXT_MAX_BYTES);
	int r = io_read_file(AT_FDCWD, path, &text);

	return r < 0 ? r : idmap_parse(str_of(buf_str(&text)), ret);
}

int idmap_longest_run(const struct idmap *m, uint32_t from, struct idmap_line *ret)
{
	struct idmap_line best = { 0 };

	for (unsigned i = 0; i < m->n; i++) {
		struct idmap_line l = m->line[i];

		if (l.inside < from) {
			uint32_t skip = from - l.inside;

			if (skip >= l.count)
				continue;
			l = (struct idmap_line){ from, l.outside + skip, l.count - skip };
		}
		if (l.count > best.count)
			best = l;
	}
	if (best.count == 0)
		return -ENOENT;
	*ret = best;
	return 0;
}

bool idmap_is_whole(void)
{
	struct idmap m;

	return idmap_read("/proc/self/uid_map", &m) == 0 && m.n == 1 && m.line[0].inside == 0 &&
	       m.line[0].outside == 0 && m.line[0].count == UINT32_MAX;
}
