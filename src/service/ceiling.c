#include "service/ceiling.h"

#include <assert.h>

#define SHARE 8 /* ceiling_take_share() takes at most an eighth of what is left */

size_t ceiling_left(const struct ceiling *c)
{
	/* `used` can exceed `max`, because the maximum may have been lowered */
	return c->used < c->max ? c->max - c->used : 0;
}

bool ceiling_take(struct ceiling *c, size_t n)
{
	while (n > ceiling_left(c))
		if (!c->relieve || !c->relieve(c->arg))
			return false;
	c->used += n;
	return true;
}

bool ceiling_take_share(struct ceiling *c, size_t n)
{
	return n <= ceiling_left(c) / SHARE && ceiling_take(c, n);
}

void ceiling_give(struct ceiling *c, size_t n)
{
	assert(n <= c->used);
	c->used -= n;
}

bool holding_set(struct holding *h, size_t n)
{
	size_t more = n > h->bytes ? n - h->bytes : 0;

	if (more > CEILING_SMALL_BYTES ? !ceiling_take_share(h->ceiling, more)
				       : !ceiling_take(h->ceiling, more))
		return false;
	if (n < h->bytes)
		ceiling_give(h->ceiling, h->bytes - n);
	h->bytes = n;
	return true;
}

void holding_done(struct holding *h)
{
	if (h->ceiling)
		ceiling_give(h->ceiling, h->bytes);
	*h = (struct holding){ 0 };
}
