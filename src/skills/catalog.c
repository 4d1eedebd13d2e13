#include "skills/catalog.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/beneath.h"
#include "skills/discover.h"
#include "skills/name.h"

/* Returns the name that the package at PATH has if its entry file holds no name. */
static const char *dir_name(const struct store *s, const char *path)
{
	return path_leaf(*path ? path : s->path);
}

static int load(const struct store *s, const char *path, const char *entry, struct skill *ret,
		struct why *y)
{
	AUTO_FD fd = beneath_open_unlinked(s->fd, path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return why_sys(y, -fd, "Skill directory cannot be opened: %s/%s", s->path, path);
	if (!entry)
		entry = package_entry(fd);
	if (!entry)
		return why_set(y, "No " PACKAGE_ENTRY " found in %s%s%s", s->path, *path ? "/" : "",
			       path);
	return package_load(fd, entry, path, dir_name(s, path), ret, y);
}

int catalog_load_at(const struct store *s, const char *path, struct skill *ret, struct why *y)
{
	return load(s, path, NULL, ret, y);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

struct place {
	const struct skill *skill;
	size_t at;
};

/* The package that was modified last comes first. Packages that were modified at the same time keep
 * the order in which they were found. */
static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (is_later(&x->skill->modified, &y->skill->modified))
		return -1;
	if (is_later(&y->skill->modified, &x->skill->modified))
		return 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void sort(struct catalog *c)
{
	struct place *order = xcalloc(c->n + 1, sizeof(*order));
	struct skill *sorted = xcalloc(c->n + 1, sizeof(*sorted));

	for (size_t i = 0; i < c->n; i++)
		order[i] = (struct place){ &c->skill[i], i };
	qsort(order, c->n, sizeof(*order), by_time);
	for (size_t i = 0; i < c->n; i++)
		sorted[i] = *order[i].skill;
	free(order);
	free(c->skill);
	c->skill = sorted;
}

int catalog_load(const struct store *s, struct catalog *ret, struct why *y)
{
	AUTO_DISCOVERY d = { 0 };
	AUTO_CATALOG c = { 0 };
	size_t bytes = 0;

	if (discover(s->fd, PACKAGE_DEPTH_STORE, store_skip(s), &d, y) < 0)
		return -1;
	c.skill = xcalloc(d.n + 1, sizeof(*c.skill));
	for (size_t i = 0; i < d.n; i++) {
		AUTO_WHY broken = WHY_INIT;

		if (load(s, d.found[i].path, d.found[i].entry, &c.skill[c.n], &broken) < 0)
			continue;
		bytes += skill_text_bytes(&c.skill[c.n++]);
		if (bytes > CATALOG_TEXT_MAX_BYTES)
			return why_set(y, "Skill listing exceeds the configured text limit");
	}
	sort(&c);
	*ret = c;
	c = (struct catalog){ 0 };
	return 0;
}

void catalog_done(struct catalog *c)
{
	for (size_t i = 0; i < c->n; i++)
		skill_done(&c->skill[i]);
	free(c->skill);
	*c = (struct catalog){ 0 };
}

struct skill *catalog_find(struct catalog *c, struct str name)
{
	for (size_t i = 0; i < c->n; i++)
		if (str_eq(name, c->skill[i].name))
			return &c->skill[i];
	return NULL;
}

int catalog_get(const struct store *s, struct str name, struct skill *ret, struct why *y)
{
	AUTO_CATALOG c = { 0 };
	struct skill *k;

	if (catalog_load(s, &c, y) < 0)
		return -1;
	k = catalog_find(&c, name);
	if (!k) {
		why_set(y, "Skill \"");
		why_add_str(y, name);
		why_add(y, "\" not found");
		return -1;
	}
	*ret = *k;
	*k = (struct skill){ 0 };
	return 0;
}

int catalog_open(const struct store *s, const struct skill *k, int *ret_fd, struct why *y)
{
	int fd = beneath_open_unlinked(s->fd, k->path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return why_sys(y, -fd, "Skill directory cannot be opened: %s/%s", s->path, k->path);
	*ret_fd = fd;
	return 0;
}

void catalog_write_skill(const struct store *s, const struct skill *k, struct json_writer *w)
{
	AUTO_FREE char *root = store_path(s, k->path);

	skill_write_json(k, root, NULL, w);
}
