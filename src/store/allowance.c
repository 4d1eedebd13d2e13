#include "store/allowance.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/str.h"

void allowance_init(struct allowance *a)
{
	*a = (struct allowance){ IMAGE_ENTRIES_MAX, IMAGE_NAMES_MAX_BYTES, IMAGE_PLAIN_MAX_BYTES };
}

int allowance_take_entries(struct allowance *a, uint64_t n, struct err *e)
{
	if (n > a->entries)
		return err_set(e, ERR_LIMIT,
			       "image has more than %u entries in all layers together",
			       IMAGE_ENTRIES_MAX);
	a->entries -= n;
	return 0;
}

int allowance_take_names(struct allowance *a, uint64_t n, struct err *e)
{
	if (n > a->names)
		return err_set(e, ERR_LIMIT,
			       "image has names of more than %llu MiB in all layers together",
			       IMAGE_NAMES_MAX_BYTES >> 20);
	a->names -= n;
	return 0;
}

int allowance_take_layer(struct allowance *a, const struct image_layer_info *i, struct err *e)
{
	if (allowance_take_entries(a, i->entries, e) < 0 ||
	    allowance_take_names(a, i->name_bytes, e) < 0)
		return -1;
	if (i->tar_bytes > a->plain)
		return err_set(e, ERR_LIMIT, "image has more than %llu GiB in all layers together",
			       IMAGE_PLAIN_MAX_BYTES >> 30);
	a->plain -= i->tar_bytes;
	return 0;
}

void allowance_write(const struct allowance *a, struct buf *out)
{
	buf_addf(out, "%llu,%llu,%llu,", (unsigned long long)a->entries,
		 (unsigned long long)a->names, (unsigned long long)a->plain);
}

int allowance_read(const char *text, struct allowance *ret)
{
	uint64_t *const field[] = { &ret->entries, &ret->names, &ret->plain };
	struct str rest = str_of(text);

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		struct str word = rest.p ? str_cut(&rest, ',') : rest;

		if (parse_u64_str(word, 0, UINT64_MAX, field[i]) < 0)
			return -EINVAL;
	}
	return rest.p && rest.n == 0 ? 0 : -EINVAL;
}
