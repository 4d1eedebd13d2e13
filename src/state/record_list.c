#include "state/record_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/str.h"
#include "spec/spec.h"
#include "state/home.h"

struct dated {
	char *name;
	uint64_t created;
};

static int newest_first(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->created != y->created)
		return x->created < y->created ? 1 : -1;
	return strcmp(x->name, y->name);
}

int record_list_all(const struct home *h, struct record_list *ret, struct err *e)
{
	AUTO_FD fd = home_open_part(h, "sandboxes");
	AUTO_FREE struct dated *all = NULL;
	AUTO_DIR d = fd < 0 ? NULL : dir_open(fd, ".");
	const struct dirent *entry;
	struct err ignored;
	size_t n = 0;

	*ret = (struct record_list){ 0 };
	if (!d)
		return err_sys(e, errno, "list '%s/sandboxes'", h->path);
	while ((entry = dir_next(d))) {
		struct stat st;
		AUTO_FREE char *lock = NULL;

		/* neither `lost+found` nor a file is a record */
		if (entry->d_name[0] == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    spec_check_name("sandbox", entry->d_name, &ignored) < 0)
			continue;
		lock = xasprintf("%s/lock", entry->d_name);
		/* the lock file is made at create and never changed, so its time orders the list */
		if (fstatat(fd, lock, &st, AT_SYMLINK_NOFOLLOW) < 0)
			st = (struct stat){ 0 };
		all = xreallocarray(all, n + 1, sizeof(*all));
		all[n++] = (struct dated){ xstrdup(entry->d_name),
					   (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC +
						   (uint64_t)st.st_mtim.tv_nsec };
	}
	if (n)
		qsort(all, n, sizeof(*all), newest_first);
	ret->name = xcalloc(n + 1, sizeof(*ret->name));
	for (size_t i = 0; i < n; i++)
		ret->name[ret->n++] = all[i].name;
	return 0;
}

void record_list_done(struct record_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
	*l = (struct record_list){ 0 };
}
