/*
 * A token bucket that may go into debt: what has already arrived is always counted, and whoever
 * feeds it waits until the debt is paid. Times are given.
 */
#pragma once

#include "policy/policy.h"

struct bucket {
	struct rate_limit limit; /* amount 0: no limit */
	int64_t tokens;
	uint64_t last_ns;
};

void bucket_init(struct bucket *b, const struct rate_limit *limit, uint64_t now_ns);
void bucket_take(struct bucket *b, uint64_t amount);
/* How long until something may pass; 0: now. */
uint64_t bucket_wait_ns(struct bucket *b, uint64_t now_ns);
