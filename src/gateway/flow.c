#include "gateway/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void flow_table_init(struct flow_table *t, unsigned max)
{
	*t = (struct flow_table){ .max = max };
}

void flow_table_done(struct flow_table *t)
{
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		while (t->bucket[i])
			flow_remove(t, t->bucket[i]);
}

static unsigned bucket_of(const struct flow_key *k)
{
	uint32_t h = (uint32_t)k->guest_port << 16 | k->peer_port;

	for (unsigned i = 0; i < ADDR_V6_BYTES; i += 4)
		h = (h ^ ((uint32_t)k->peer.b[i] << 24 | (uint32_t)k->peer.b[i + 1] << 16 |
			  (uint32_t)k->peer.b[i + 2] << 8 | k->peer.b[i + 3])) *
		    0x9e3779b1u;
	return (h ^ (unsigned)k->kind * 0x85ebca6bu) >> 22;
}

static bool same_key(const struct flow_key *a, const struct flow_key *b)
{
	return a->kind == b->kind && a->guest_port == b->guest_port &&
	       a->peer_port == b->peer_port && addr_eq(&a->peer, &b->peer);
}

struct flow *flow_find(struct flow_table *t, const struct flow_key *key)
{
	struct flow *f = t->bucket[bucket_of(key)];

	while (f && !same_key(&f->key, key))
		f = f->next;
	return f;
}

static bool evict_quiet(struct flow_table *t, uint64_t now_ns)
{
	struct flow *oldest = NULL;

	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		for (struct flow *f = t->bucket[i]; f; f = f->next)
			if (f->key.kind == PACKET_UDP && (!oldest || f->last_ns < oldest->last_ns))
				oldest = f;
	if (!oldest || now_ns - oldest->last_ns < FLOW_UDP_EVICT_NS)
		return false;
	flow_remove(t, oldest);
	return true;
}

struct flow *flow_add(struct flow_table *t, const struct flow_key *key, uint64_t now_ns)
{
	unsigned b = bucket_of(key);
	struct flow *f;

	if (t->n >= t->max && !evict_quiet(t, now_ns))
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->key = *key;
	f->last_ns = now_ns;
	f->dial = -1;
	f->next = t->bucket[b];
	t->bucket[b] = f;
	t->n++;
	return f;
}

void flow_remove(struct flow_table *t, struct flow *f)
{
	struct flow **at = &t->bucket[bucket_of(&f->key)];

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	t->n--;
	hold_free(f->hold);
	free(f);
}

static uint64_t idle_limit(const struct flow *f)
{
	if (f->key.kind == PACKET_TCP)
		return f->open ? FLOW_TCP_IDLE_NS : FLOW_OPENING_NS;
	return f->open ? FLOW_UDP_OPEN_NS : FLOW_UDP_IDLE_NS;
}

void flow_expire(struct flow_table *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < FLOW_BUCKETS; i++)
		for (struct flow *f = t->bucket[i], *next; f; f = next) {
			next = f->next;
			if (now_ns - f->last_ns > idle_limit(f))
				flow_remove(t, f);
		}
}

/* Returns true if A is at or after B in sequence space. */
static bool seq_reached(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) >= 0;
}

bool flow_track(struct flow *f, const struct packet *p, bool from_guest)
{
	if (p->flags & TCP_RST)
		return true;
	if (p->flags & TCP_FIN) {
		if (from_guest) {
			f->guest_fin = true;
			f->guest_end = p->seq + packet_seq_len(p);
		} else {
			f->host_fin = true;
			f->host_end = p->seq + packet_seq_len(p);
		}
	}
	if (p->flags & TCP_ACK) {
		if (from_guest && f->host_fin && seq_reached(p->ack, f->host_end))
			f->host_fin_acked = true;
		if (!from_guest && f->guest_fin && seq_reached(p->ack, f->guest_end))
			f->guest_fin_acked = true;
		if (from_guest == f->ingress && p->flags & TCP_SYN)
			f->open = true;
	}
	return f->guest_fin_acked && f->host_fin_acked;
}
