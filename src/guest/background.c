#include "guest/background.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

static uint64_t keep_ns(uint64_t ms)
{
	return (ms && ms < BACKGROUND_KEEP_MAX_MS ? ms : BACKGROUND_KEEP_MAX_MS) * NS_PER_MS;
}

int background_new(struct backgrounds *t, const struct background_spec *s, struct background **ret,
		   struct err *e)
{
	const unsigned most = s->hidden ? BACKGROUND_MAX - BACKGROUND_RESERVED : BACKGROUND_MAX;
	bool marked = !s->terminal && !s->joined;
	struct background *b;

	if (t->n >= most)
		return err_set(e, ERR_LIMIT, "there are %u background commands already", t->n);
	b = xcalloc(1, sizeof(*b));
	words_copy(&b->words, s->words);
	b->cost = sizeof(*b) + b->words.n + ring_cost(marked);
	if (!pool_take(&t->pool, b->cost)) {
		words_done(&b->words);
		free(b);
		return err_set(e, ERR_LIMIT, POOL_REFUSAL);
	}
	b->id = s->id;
	b->flags = (s->terminal ? COMMAND_TERMINAL : 0u) | (b->words.cut ? COMMAND_CUT : 0u);
	b->hidden = s->hidden;
	b->began_ns = s->began_ns;
	b->keep_ns = keep_ns(s->keep_ms);
	b->next = t->first;
	t->first = b;
	t->n++;
	if (ring_open(&b->out, marked) < 0) {
		background_free(t, b);
		return err_set(e, ERR_LIMIT, "no memory for a background command");
	}
	*ret = b;
	return 0;
}

static void drop_report(struct backgrounds *t, struct background *b)
{
	pool_give(&t->pool, b->report.n);
	free((char *)b->report.p);
	b->report = (struct str){ 0 };
}

void background_free(struct backgrounds *t, struct background *b)
{
	struct background **at = &t->first;

	if (!b)
		return;
	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	t->n--;
	background_let_go(t, b, 0);
	drop_report(t, b);
	pool_give(&t->pool, b->cost);
	ring_done(&b->out);
	words_done(&b->words);
	free(b);
}

struct background *background_find(const struct backgrounds *t, uint64_t id)
{
	struct background *b = t->first;

	while (b && (b->id != id || b->hidden))
		b = b->next;
	return b;
}

void background_add(struct background *b, const char *p, size_t n, bool is_error)
{
	ring_add(&b->out, p, n, is_error);
	if (b->flags & COMMAND_TERMINAL)
		screen_feed(&b->screen, p, n);
}

bool background_hold(struct backgrounds *t, struct background *b, size_t n)
{
	if (n <= b->input_cost)
		return true;
	if (!pool_take(&t->pool, n - b->input_cost))
		return false;
	b->input_cost = n;
	return true;
}

void background_let_go(struct backgrounds *t, struct background *b, size_t n)
{
	if (n >= b->input_cost)
		return;
	pool_give(&t->pool, b->input_cost - n);
	b->input_cost = n;
}

void background_report(struct backgrounds *t, struct background *b, char *p, size_t n)
{
	drop_report(t, b);
	b->report = (struct str){ p, n };
}

void background_end(struct background *b, const struct exit_message *end, uint64_t now_ns)
{
	b->ended = true;
	b->end = *end;
	b->ended_ns = now_ns;
}

static uint64_t due(const struct background *b)
{
	return b->ended_ns + b->keep_ns;
}

uint64_t backgrounds_due(const struct backgrounds *t)
{
	uint64_t first = 0;

	for (const struct background *b = t->first; b; b = b->next)
		if (b->ended && (!first || due(b) < first))
			first = due(b);
	return first;
}

void backgrounds_expire(struct backgrounds *t, uint64_t now_ns)
{
	for (struct background *b = t->first, *next; b; b = next) {
		next = b->next;
		if (b->ended && due(b) <= now_ns)
			background_free(t, b);
	}
}

void background_tell(const struct background *b, uint64_t now_ns, struct command_message *ret)
{
	*ret = (struct command_message){
		.id = b->id,
		.flags = b->flags | COMMAND_BACKGROUND,
		.age_ms = (now_ns - b->began_ns) / NS_PER_MS,
		.words = { b->words.p, b->words.n },
		.total = b->out.total,
		.first = ring_first(&b->out),
		.report = b->report.n,
	};
	if (!b->ended)
		return;
	ret->flags |= COMMAND_ENDED | COMMAND_NO_INPUT;
	ret->ended_ms = (now_ns - b->ended_ns) / NS_PER_MS;
	ret->end = b->end;
}

size_t background_part(const struct background *b, const struct look_message *m, uint64_t *ret_at)
{
	uint64_t first = ring_first(&b->out), at = m->offset, left;

	if (m->flags & LOOK_TAIL)
		at = b->out.total > m->most ? b->out.total - m->most : 0;
	if (at < first)
		at = first;
	if (at > b->out.total)
		at = b->out.total;
	left = b->out.total - at;
	*ret_at = at;
	return (size_t)(left < m->most ? left : m->most);
}
