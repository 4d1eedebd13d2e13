#include "gateway/bucket.h"

#include "base/clock.h"

static int64_t bucket_size(const struct bucket *b)
{
	return (int64_t)(b->limit.burst ? b->limit.burst : b->limit.amount);
}

void bucket_init(struct bucket *b, const struct rate_limit *limit, uint64_t now_ns)
{
	*b = (struct bucket){ .limit = *limit, .last_ns = now_ns };
	b->tokens = bucket_size(b);
}

void bucket_take(struct bucket *b, uint64_t amount)
{
	if (b->limit.amount)
		b->tokens -= (int64_t)amount;
}

/* Computes AMOUNT × DT / INTERVAL without overflow. AMOUNT may reach 2^50, and the times may reach
 * a day in nanoseconds. */
static uint64_t scale(uint64_t amount, uint64_t dt_ns, uint64_t interval_ns)
{
	return (uint64_t)((unsigned __int128)amount * dt_ns / interval_ns);
}

uint64_t bucket_wait_ns(struct bucket *b, uint64_t now_ns)
{
	uint64_t interval_ns = (uint64_t)b->limit.interval_ms * NS_PER_MS, fresh;

	if (!b->limit.amount)
		return 0;
	fresh = scale(b->limit.amount, now_ns - b->last_ns, interval_ns);
	if (fresh > 0) {
		int64_t room = bucket_size(b) - b->tokens;

		b->tokens += fresh < (uint64_t)room ? (int64_t)fresh : room;
		b->last_ns = now_ns;
	}
	if (b->tokens > 0)
		return 0;
	return scale((uint64_t)(1 - b->tokens), interval_ns, b->limit.amount) + 1;
}
