#include "service/ceiling.h"

#include <assert.h>

#define SHARE 8 /* of what is left, one holder may take this part at once */

size_t ceiling_left(const struct ceiling *c)
{
	return c->used < c->max ? c->max - c->used : 0; /* the maximum may have been lowered */
}

bool ceiling_take(struct ceiling *c, size_t n)
{
	if (n > ceiling_left(c))
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
