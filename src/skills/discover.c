/*
 * Directories wait in a queue with their paths and are opened when their turn comes, so few
 * descriptors are open at a time. A path is opened from DIR without following links. If a directory
 * in the queue is replaced by a link, the search leaves it out.
 */
#include "skills/discover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/beneath.h"

struct waiting {
	char *path;
	unsigned depth;
};

struct search {
	int dir;
	unsigned depth;
	bool (*skip)(const char *name);
	struct waiting *queue;
	size_t n, room, next;
	unsigned entries;
	struct discovery *found;
	struct why *y;
};

void discovery_done(struct discovery *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->found[i].path);
	free(d->found);
	*d = (struct discovery){ 0 };
}

static void *grown(void *p, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return p;
	*room = *room ? 2 * *room : 16;
	p = reallocarray(p, *room, size);
	if (!p)
		out_of_memory();
	return p;
}

static int add_found(struct search *s, const char *path, const char *entry)
{
	struct discovery *d = s->found;

	if (d->n == DISCOVER_PACKAGES_MAX)
		return why_set(s->y, "Skill discovery exceeded the configured package limit");
	d->found = grown(d->found, d->n, &d->room, sizeof(*d->found));
	d->found[d->n++] = (struct found){ xstrdup(path), entry };
	return 0;
}

static void add_waiting(struct search *s, char *path, unsigned depth)
{
	s->queue = grown(s->queue, s->n, &s->room, sizeof(*s->queue));
	s->queue[s->n++] = (struct waiting){ path, depth };
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct waiting *)a)->path, ((const struct waiting *)b)->path);
}

/* Puts the directories in D into the queue. AT is the queue's entry for D itself. */
static int add_children(struct search *s, DIR *d, const struct waiting *at)
{
	/* a copy, because AT is invalid after the queue has grown */
	AUTO_FREE char *above = xstrdup(at->path);
	unsigned depth = at->depth + 1;
	size_t first = s->n;
	struct dirent *entry;

	while ((entry = readdir(d))) {
		const char *name = entry->d_name;

		/* Entries that SKIP leaves out do not count for the limit. While the sweep erases a
		 * package, it moves the package's directories to hidden names in the store, so
		 * there may be many such entries. */
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (depth == 1 && s->skip && s->skip(name)))
			continue;
		if (++s->entries > DISCOVER_ENTRIES_MAX)
			return why_set(s->y, "Skill discovery exceeded the configured entry limit");
		/* DT_UNKNOWN: the file system does not tell the type; if the entry is no directory,
		 * opening it will fail */
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		add_waiting(s, xasprintf("%s%s%s", above, *above ? "/" : "", name), depth);
	}
	/* the new paths have the same parent, so sorting by path sorts them by name */
	if (s->n > first)
		qsort(s->queue + first, s->n - first, sizeof(*s->queue), by_name);
	return 0;
}

/* Looks at the next directory in the queue. */
static int visit(struct search *s)
{
	const struct waiting *at = &s->queue[s->next++];
	AUTO_FD fd = beneath_open_unlinked(s->dir, at->path, O_RDONLY | O_DIRECTORY);
	const char *entry;
	DIR *d;
	int r;

	if (fd < 0)
		return 0;
	entry = package_entry(fd);
	if (entry)
		return add_found(s, at->path, entry);
	if (at->depth == s->depth)
		return 0;
	d = fdopendir(fd);
	if (!d)
		return 0;
	fd_take(&fd);
	r = add_children(s, d, at);
	closedir(d);
	return r;
}

int discover(int dir, unsigned depth, bool (*skip)(const char *name), struct discovery *ret,
	     struct why *y)
{
	AUTO_DISCOVERY found = { 0 };
	struct search s = { .dir = dir, .depth = depth, .skip = skip, .found = &found, .y = y };
	int r = 0;

	add_waiting(&s, xstrdup(""), 0);
	while (r == 0 && s.next < s.n)
		r = visit(&s);
	for (size_t i = 0; i < s.n; i++)
		free(s.queue[i].path);
	free(s.queue);
	if (r < 0)
		return -1;
	*ret = found;
	found = (struct discovery){ 0 };
	return 0;
}
