#include "files/pattern.h"

#include <errno.h>
#include <string.h>

#include "base/unicode.h"

int pattern_read(struct pattern *p, struct str text)
{
	*p = (struct pattern){ 0 };
	if (text.n && text.p[0] == '/')
		return -EINVAL;
	while (text.p) {
		struct str part = str_cut(&text, '/');

		if (part.n == 0 || str_eq(part, "."))
			continue;
		if (str_eq(part, ".."))
			return -EINVAL;
		if (p->n == PATTERN_PARTS_MAX)
			return -E2BIG;
		p->part[p->n++] = part;
	}
	return p->n ? 0 : -EINVAL;
}

/* REST begins after the bracket `[` of a set `[…]`. Removes the set from REST. Returns 1 if C is in
 * the set, or 0 if it is not. Returns -1 if the set has no end; then the `[` is an ordinary
 * character. */
static int take_set(struct str *rest, uint32_t c)
{
	struct str at = *rest;
	bool inverted = at.n && at.p[0] == '!', found = false, first = true;

	/* A pattern may be a long row of `[` without an end, and match_name() comes here for each
	 * of them and for each character of the name. So look for the end in the fastest way. */
	if (!at.n || !memchr(at.p, ']', at.n))
		return -1;
	if (inverted)
		unicode_take(&at);
	while (at.n) {
		uint32_t low = unicode_take(&at), high = low;

		if (low == ']' && !first) {
			*rest = at;
			return found != inverted;
		}
		first = false;
		if (at.n > 1 && at.p[0] == '-' && at.p[1] != ']') {
			unicode_take(&at);
			high = unicode_take(&at);
		}
		found |= low <= c && c <= high;
	}
	return -1;
}

/* Removes one element of the pattern from the front of PART. Returns true if the element matches
 * C. */
static bool take_element(struct str *part, uint32_t c)
{
	uint32_t x = unicode_take(part);
	int r;

	if (x == '?')
		return true;
	if (x != '[')
		return x == c;
	r = take_set(part, c);
	return r < 0 ? c == '[' : r;
}

/* Matches one component. After a mismatch, only the last `*` is tried again, with one more
 * character. So the time is at most the product of both lengths. */
static bool match_name(struct str part, struct str name)
{
	/* `behind` is the rest of the pattern after the last `*`. `from` is the place in NAME at
	 * which the present try to match `behind` began. */
	struct str behind = { 0 }, from = name;

	while (name.n) {
		struct str p = part, s = name;

		if (part.n && part.p[0] == '*') {
			unicode_take(&part);
			behind = part;
			from = name;
		} else if (part.n && take_element(&p, unicode_take(&s))) {
			part = p;
			name = s;
		} else if (behind.p) {
			unicode_take(&from);
			part = behind;
			name = from;
		} else {
			return false;
		}
	}
	while (part.n && part.p[0] == '*')
		unicode_take(&part);
	return part.n == 0;
}

static size_t split(struct str path, struct str *name)
{
	size_t n = 0;

	while (path.p && n < PATTERN_DEPTH_MAX)
		name[n++] = str_cut(&path, '/');
	return path.p ? 0 : n;
}

/* Works like match_name(), but with components instead of characters, and `**` instead of `*`.
 * Every pattern means the same as if it began with `**`. */
bool pattern_matches(const struct pattern *p, struct str path)
{
	struct str name[PATTERN_DEPTH_MAX];
	size_t n = split(path, name), i = 0, j = 0, behind = 0, from = 0;

	if (n == 0)
		return false;
	while (j < n) {
		if (i < p->n && str_eq(p->part[i], "**")) {
			behind = ++i;
			from = j;
		} else if (i < p->n && match_name(p->part[i], name[j])) {
			i++;
			j++;
		} else {
			i = behind;
			j = ++from;
		}
	}
	while (i < p->n && str_eq(p->part[i], "**"))
		i++;
	return i == p->n;
}
