#include "skills/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void sweep_done(struct sweep *w)
{
	while (w->n)
		free(w->tenant[--w->n]);
}

void sweep_add(struct sweep *w, const char *tenant)
{
	if (!tenant)
		tenant = "";
	for (unsigned i = 0; i < w->n; i++)
		if (strcmp(w->tenant[i], tenant) == 0)
			return;
	if (w->n < SWEEP_STORES_MAX)
		w->tenant[w->n++] = xstrdup(tenant);
}

static void remove_first(struct sweep *w)
{
	free(w->tenant[0]);
	memmove(w->tenant, w->tenant + 1, --w->n * sizeof(w->tenant[0]));
}

bool sweep_some(struct sweep *w, const struct places *p)
{
	AUTO_WHY y = WHY_INIT;
	AUTO_STORE s = { .fd = -1 };

	if (w->n == 0)
		return false;
	if (store_open(p, *w->tenant[0] ? w->tenant[0] : NULL, &s, &y) < 0 || !store_sweep(&s))
		remove_first(w);
	return true;
}
