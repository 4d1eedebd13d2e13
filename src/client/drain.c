#include "client/drain.h"

void drain_begin(struct drain *d, bool alone, uint64_t now_ns, uint64_t out_held, uint64_t err_held)
{
	*d = (struct drain){ .alone = alone,
			     .until = now_ns + DRAIN_NS,
			     .last = now_ns,
			     .left = { [DRAIN_OUT] = out_held, [DRAIN_ERR] = err_held } };
}

void drain_read(struct drain *d, unsigned stream, uint64_t n, uint64_t now_ns)
{
	d->left[stream] -= n < d->left[stream] ? n : d->left[stream];
	d->last = now_ns;
}

bool drain_hears(const struct drain *d, uint64_t now_ns)
{
	return d->left[DRAIN_OUT] || d->left[DRAIN_ERR] || (!d->alone && now_ns < d->until);
}

bool drain_is_silent(const struct drain *d, uint64_t now_ns)
{
	return d->alone || now_ns - d->last >= DRAIN_SILENCE_NS;
}
