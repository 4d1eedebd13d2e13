#include "spec/spec.h"

#include <stdlib.h>

#include "base/cleanup.h"

void strv_add(struct strv *l, const char *s)
{
	/* one slot is for the new string, and one is for the terminator */
	l->v = xreallocarray(l->v, l->n + 2, sizeof(*l->v));
	l->v[l->n++] = xstrdup(s);
	l->v[l->n] = NULL;
}

void strv_done(struct strv *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct strv){ 0 };
}

void strv_copy(struct strv *to, const struct strv *from)
{
	strv_done(to);
	for (size_t i = 0; i < from->n; i++)
		strv_add(to, from->v[i]);
}
