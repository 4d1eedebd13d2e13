/*
 * A token bucket that limits a rate of traffic. The bucket counts traffic after it has arrived, so
 * the count of tokens may become negative. The sender then waits until the count is positive again.
 * The bucket has no clock; the caller passes the time.
 */
#pragma once

#include "policy/policy.h"

struct bucket {
	struct rate_limit limit; /* amount 0 means no limit */
	int64_t tokens;
	uint64_t last_ns;
};

void bucket_init(struct bucket *b, const struct rate_limit *limit, uint64_t now_ns);
void bucket_take(struct bucket *b, uint64_t amount);
/* Returns how long the sender must wait, or 0 if it may send now. */
uint64_t bucket_wait_ns(struct bucket *b, uint64_t now_ns);
