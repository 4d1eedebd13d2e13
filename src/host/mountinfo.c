#include "host/mountinfo.h"

#include <errno.h>

#define MOUNTINFO_FIELDS_BEFORE 6 /* id, parent, device, root, point, options */

/* Parses one line. Returns false if the line is malformed. One blank separates the fields. Between
 * the options and a lone "-" there may be any number of optional fields. */
static bool line_parse(struct str line, struct mountinfo *ret)
{
	struct str before[MOUNTINFO_FIELDS_BEFORE], word;

	for (unsigned i = 0; i < MOUNTINFO_FIELDS_BEFORE; i++) {
		if (!line.p)
			return false;
		before[i] = str_cut(&line, ' ');
		if (before[i].n == 0)
			return false;
	}
	do {
		if (!line.p)
			return false;
		word = str_cut(&line, ' ');
	} while (!str_eq(word, "-"));
	if (!line.p)
		return false;
	ret->id = before[0];
	ret->device = before[2];
	ret->root = before[3];
	ret->point = before[4];
	ret->options = before[5];
	ret->fstype = str_cut(&line, ' ');
	ret->source = line.p ? str_cut(&line, ' ') : STR("");
	ret->super = line.p ? line : STR("");
	return ret->fstype.n > 0;
}

bool mountinfo_next(struct str *rest, struct mountinfo *ret)
{
	while (rest->p) {
		struct mountinfo m;

		if (line_parse(str_cut(rest, '\n'), &m)) {
			*ret = m;
			return true;
		}
	}
	return false;
}

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

int mountinfo_unescape(struct str s, char *out, size_t out_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '\\' && s.n - i > 3 && octal(s.p[i + 1]) && octal(s.p[i + 2]) &&
		    octal(s.p[i + 3])) {
			c = (char)((s.p[i + 1] - '0') << 6 | (s.p[i + 2] - '0') << 3 |
				   (s.p[i + 3] - '0'));
			i += 3;
		}
		if (c == '\0')
			return -EINVAL;
		if (n + 1 >= out_bytes)
			return -ENAMETOOLONG;
		out[n++] = c;
	}
	if (out_bytes == 0)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return 0;
}

bool mountinfo_has_option(struct str options, const char *word)
{
	while (options.p)
		if (str_eq(str_cut(&options, ','), word))
			return true;
	return false;
}
