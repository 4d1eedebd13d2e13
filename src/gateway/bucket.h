/*
 * A token bucket that may go into debt. What has arrived is always counted, and the sender waits until
 * the debt is paid. The caller gives the time.
 */
#pragma once

#include "policy/policy.h"

struct bucket {
	struct rate_limit limit; /* amount 0: there is no limit */
	int64_t tokens;
	uint64_t last_ns;
};

void bucket_init(struct bucket *b, const struct rate_limit *limit, uint64_t now_ns);
void bucket_take(struct bucket *b, uint64_t amount);
/* Returns how long nothing may pass; 0: something may pass now. */
uint64_t bucket_wait_ns(struct bucket *b, uint64_t now_ns);
