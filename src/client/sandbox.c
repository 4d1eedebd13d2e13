#include "client/sandbox.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "client/removal.h"
#include "state/record_list.h"

/* Notes that the record NAME could not be loaded. */
static void add_unread(struct sandbox_list *l, const char *name, const struct err *why)
{
	l->unread = xreallocarray(l->unread, l->n_unread + 1, sizeof(*l->unread));
	l->unread[l->n_unread++] = (struct sandbox_unread){ xstrdup(name), *why };
}

int sandbox_list_load(const struct home *h, struct sandbox_list *ret, struct err *e)
{
	struct record_list names;

	*ret = (struct sandbox_list){ 0 };
	leftovers_sweep(h);
	if (record_list_all(h, &names, e) < 0)
		return -1;
	ret->item = xcalloc(names.n + 1, sizeof(*ret->item));
	for (size_t i = 0; i < names.n; i++) {
		struct err broken;

		if (record_load(h, names.name[i], &ret->item[ret->n], &broken) < 0) {
			record_done(&ret->item[ret->n]);
			if (broken.code == ERR_NOT_FOUND) /* it was removed, or is a leftover */
				leftover_sweep(h, names.name[i]);
			else
				add_unread(ret, names.name[i], &broken);
			continue;
		}
		/* close the directory, because a long list must not hold hundreds of descriptors */
		fd_closep(&ret->item[ret->n].dir);
		ret->n++;
	}
	record_list_done(&names);
	return 0;
}

void sandbox_list_done(struct sandbox_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		record_done(&l->item[i]);
	free(l->item);
	for (size_t i = 0; i < l->n_unread; i++)
		free(l->unread[i].name);
	free(l->unread);
	*l = (struct sandbox_list){ 0 };
}

bool sandbox_list_has_newer(const struct sandbox_list *l)
{
	for (size_t i = 0; i < l->n_unread; i++)
		if (l->unread[i].why.code == ERR_UNSUPPORTED)
			return true;
	return false;
}
