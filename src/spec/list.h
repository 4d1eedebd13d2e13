/* Arrays that grow by one: an item pointer and a count, as struct spec holds them. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static inline void *list_grow(void *items, size_t n, size_t size)
{
	void *p = reallocarray(items, n + 1, size);

	if (!p)
		out_of_memory();
	memset((char *)p + n * size, 0, size);
	return p;
}

/* A new zeroed last item of LIST, which has N items before and N + 1 after. */
#define LIST_ADD(list, n) ((list) = list_grow((list), (n), sizeof(*(list))), &(list)[(n)++])
