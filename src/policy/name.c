#include "policy/name.h"

#include <errno.h>
#include <string.h>

static bool label_ok(const char *p, size_t n)
{
	return n >= 1 && n <= NAME_LABEL_MAX_BYTES && p[0] != '-' && p[n - 1] != '-';
}

int name_normalise(struct str s, enum name_kind kind, char out[NAME_TEXT_BYTES])
{
	size_t start = 0;

	if (s.n > 0 && s.p[s.n - 1] == '.')
		s.n--;
	if (s.n == 0 || s.n > NAME_MAX_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c == '.') {
			if (!label_ok(s.p + start, i - start))
				return -EINVAL;
			start = i + 1;
		} else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			     (c == '_' && kind == NAME_QUERY))) {
			return -EINVAL;
		}
		out[i] = c;
	}
	if (!label_ok(s.p + start, s.n - start))
		return -EINVAL;
	out[s.n] = '\0';
	return 0;
}

bool name_is_under(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	if (n < k || strcmp(name + (n - k), suffix) != 0)
		return false;
	return n == k || name[n - k - 1] == '.';
}
