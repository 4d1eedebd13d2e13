#include "gateway/resolved.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define RESOLVED_BUCKETS 1024u

struct entry {
	struct entry *next; /* the next entry in the same hash bucket, newest first */
	struct entry *older, *newer;
	struct addr addr;
	uint64_t until_ns;
	char name[NAME_TEXT_BYTES];
};

struct resolved {
	struct entry *bucket[RESOLVED_BUCKETS];
	struct entry *oldest, *newest; /* a list of all entries in the order of their last use */
	unsigned n;
};

struct resolved *resolved_new(void)
{
	return xcalloc(1, sizeof(struct resolved));
}

static struct entry **bucket_of(struct resolved *n, const struct addr *a)
{
	uint32_t h = 0;

	for (unsigned i = 0; i < ADDR_V6_BYTES; i++)
		h = (h ^ a->b[i]) * 0x01000193u;
	return &n->bucket[(h ^ h >> 16) % RESOLVED_BUCKETS];
}

static void unlink_age(struct resolved *n, struct entry *e)
{
	*(e->older ? &e->older->newer : &n->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &n->newest) = e->older;
}

static void link_newest(struct resolved *n, struct entry *e)
{
	e->newer = NULL;
	e->older = n->newest;
	*(n->newest ? &n->newest->newer : &n->oldest) = e;
	n->newest = e;
}

static void drop(struct resolved *n, struct entry *e)
{
	struct entry **at = bucket_of(n, &e->addr);

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	unlink_age(n, e);
	free(e);
	n->n--;
}

void resolved_free(struct resolved *n)
{
	if (!n)
		return;
	while (n->oldest)
		drop(n, n->oldest);
	free(n);
}

static void touch(struct resolved *n, struct entry *e, uint64_t until_ns)
{
	if (e->until_ns < until_ns)
		e->until_ns = until_ns;
	unlink_age(n, e);
	link_newest(n, e);
}

void resolved_remember(struct resolved *n, const char *name, const struct addr *a, uint32_t ttl_s,
		       uint64_t now_ns)
{
	uint64_t ttl_ns =
		(uint64_t)(ttl_s < RESOLVED_TTL_MAX_S ? ttl_s : RESOLVED_TTL_MAX_S) * 1000000000;
	uint64_t until = now_ns + (ttl_ns > RESOLVED_KEEP_NS ? ttl_ns : RESOLVED_KEEP_NS);
	struct entry **bucket = bucket_of(n, a), *e;

	for (e = *bucket; e; e = e->next)
		if (addr_eq(&e->addr, a) && strcmp(e->name, name) == 0) {
			touch(n, e, until);
			return;
		}
	if (n->n >= RESOLVED_MAX)
		drop(n, n->oldest);
	e = xcalloc(1, sizeof(*e));
	e->addr = *a;
	e->until_ns = until;
	memcpy(e->name, name, strlen(name) + 1);
	e->next = *bucket;
	*bucket = e;
	link_newest(n, e);
	n->n++;
}

bool resolved_covers(struct resolved *n, const struct rule *r, const struct addr *a,
		     uint64_t now_ns)
{
	for (struct entry *e = *bucket_of(n, a); e; e = e->next)
		if (e->until_ns > now_ns && addr_eq(&e->addr, a) && rule_covers_name(r, e->name)) {
			touch(n, e, now_ns + RESOLVED_KEEP_NS);
			return true;
		}
	return false;
}

const char *resolved_name_of(struct resolved *n, const struct addr *a, uint64_t now_ns)
{
	for (struct entry *e = *bucket_of(n, a); e; e = e->next)
		if (e->until_ns > now_ns && addr_eq(&e->addr, a))
			return e->name;
	return NULL;
}
