#include "endpoint/reconnect.h"

void reconnect_init(struct reconnect *r, uint64_t first_ns, uint64_t until_ns)
{
	*r = (struct reconnect){ .state = RECONNECT_UP,
				 .first_ns = first_ns,
				 .until_ns = until_ns };
}

/* Sets the time of the next attempt. If this time would be after until_ns, makes no more attempts
 * and returns false. */
static bool plan(struct reconnect *r, uint64_t now_ns)
{
	if (now_ns >= r->until_ns || r->delay_ns > r->until_ns - now_ns) {
		r->state = RECONNECT_OVER;
		return false;
	}
	r->at_ns = now_ns + r->delay_ns;
	r->state = RECONNECT_WAITING;
	return true;
}

bool reconnect_lost(struct reconnect *r, uint64_t now_ns)
{
	if (r->state != RECONNECT_UP)
		return false;
	r->delay_ns = r->first_ns;
	return plan(r, now_ns);
}

bool reconnect_try(struct reconnect *r, uint64_t now_ns)
{
	if (r->state != RECONNECT_WAITING || now_ns < r->at_ns)
		return false;
	r->state = RECONNECT_TRYING;
	return true;
}

bool reconnect_failed(struct reconnect *r, uint64_t now_ns)
{
	if (r->state != RECONNECT_TRYING)
		return false;
	r->delay_ns = r->delay_ns > RECONNECT_MAX_NS / 2 ? RECONNECT_MAX_NS : 2 * r->delay_ns;
	return plan(r, now_ns);
}

void reconnect_succeeded(struct reconnect *r)
{
	if (r->state == RECONNECT_TRYING)
		r->state = RECONNECT_UP;
}

void reconnect_end(struct reconnect *r)
{
	r->state = RECONNECT_OVER;
}
