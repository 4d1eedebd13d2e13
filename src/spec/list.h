/* Arrays that grow by one item: a pointer and a count, as in struct spec. */
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

/* Appends a zeroed item to LIST, increments N and returns the item. */
#define LIST_ADD(list, n) ((list) = list_grow((list), (n), sizeof(*(list))), &(list)[(n)++])
