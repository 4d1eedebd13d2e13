#include "gateway/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct gate {
	uint32_t start;
	bool judged;
	size_t n;
	uint8_t seen[HELLO_MAX_BYTES];
};

struct gate *gate_new(uint32_t start)
{
	struct gate *g = xcalloc(1, sizeof(*g));

	g->start = start;
	return g;
}

void gate_free(struct gate *g)
{
	free(g);
}

enum gate_step gate_feed(struct gate *g, uint32_t seq, const uint8_t *p, size_t n,
			 enum hello_kind *ret_kind, char ret_name[HELLO_NAME_BYTES])
{
	uint32_t at = seq - g->start;
	size_t again, fresh;

	if (n == 0)
		return GATE_PASS;
	if (at > g->n)
		return g->judged && (int32_t)at > 0 ? GATE_PASS : GATE_DROP;
	again = g->n - at < n ? g->n - at : n;
	if (memcmp(g->seen + at, p, again) != 0)
		return GATE_DROP;
	fresh = n - again;
	if (g->judged || fresh == 0)
		return GATE_PASS;
	if (fresh > sizeof(g->seen) - g->n)
		fresh = sizeof(g->seen) - g->n; /* a full buffer is judged below */
	memcpy(g->seen + g->n, p + again, fresh);
	g->n += fresh;
	*ret_kind = hello_parse(g->seen, g->n, ret_name);
	if (*ret_kind == HELLO_MORE)
		return GATE_PASS;
	g->judged = true;
	return GATE_JUDGE;
}

bool gate_is_over(const struct gate *g, uint32_t ack)
{
	return g->judged && (int32_t)(ack - g->start - (uint32_t)g->n) >= 0;
}
