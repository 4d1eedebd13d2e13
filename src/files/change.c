#include "files/change.h"

static const char *find_in(struct str text, struct str find)
{
	return memmem(text.p, text.n, find.p, find.n);
}

size_t change_count(struct str text, struct str find)
{
	const char *at;
	size_t n = 0;

	while ((at = find_in(text, find))) {
		size_t used = (size_t)(at - text.p) + find.n;

		text = (struct str){ text.p + used, text.n - used };
		n++;
	}
	return n;
}

void change_apply(struct str text, struct str find, struct str replacement, struct buf *out)
{
	const char *at = find_in(text, find);
	size_t before = (size_t)(at - text.p), behind = before + find.n;

	buf_add(out, text.p, before);
	buf_add(out, replacement.p, replacement.n);
	buf_add(out, text.p + behind, text.n - behind);
}
