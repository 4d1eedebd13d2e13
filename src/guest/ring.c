#include "guest/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK_BYTES (RING_BYTES / 8)

static size_t place(uint64_t at)
{
	return (size_t)(at & (RING_BYTES - 1));
}

static bool mark_at(const struct ring *r, uint64_t at)
{
	return r->mark && r->mark[place(at) / 8] >> (place(at) % 8) & 1;
}

static void set_marks(struct ring *r, uint64_t at, size_t n, bool mark)
{
	for (; r->mark && n > 0; at++, n--) {
		unsigned char bit = (unsigned char)(1u << (place(at) % 8));

		if (mark)
			r->mark[place(at) / 8] |= bit;
		else
			r->mark[place(at) / 8] &= (unsigned char)~bit;
	}
}

size_t ring_cost(bool marked)
{
	return RING_BYTES + (marked ? MARK_BYTES : 0);
}

int ring_open(struct ring *r, bool marked)
{
	*r = (struct ring){ .p = malloc(RING_BYTES),
			    .mark = marked ? calloc(1, MARK_BYTES) : NULL };
	if (r->p && (r->mark || !marked))
		return 0;
	ring_done(r);
	return -ENOMEM;
}

void ring_done(struct ring *r)
{
	free(r->p);
	free(r->mark);
	r->p = NULL;
	r->mark = NULL;
}

void ring_add(struct ring *r, const char *p, size_t n, bool mark)
{
	/* add only the last bytes, because the ring would drop the others at once */
	if (r->p && n > RING_BYTES) {
		r->total += n - RING_BYTES;
		p += n - RING_BYTES;
		n = RING_BYTES;
	}
	if (r->p && n > 0) {
		size_t at = place(r->total), tail = RING_BYTES - at < n ? RING_BYTES - at : n;

		memcpy(r->p + at, p, tail);
		memcpy(r->p, p + tail, n - tail);
		set_marks(r, r->total, n, mark);
	}
	r->total += n;
}

uint64_t ring_first(const struct ring *r)
{
	if (!r->p)
		return r->total;
	return r->total > RING_BYTES ? r->total - RING_BYTES : 0;
}

size_t ring_piece(const struct ring *r, uint64_t at, const char **ret, bool *ret_mark)
{
	size_t most, n = 0;

	assert(at >= ring_first(r) && at <= r->total);
	if (at == r->total)
		return 0;
	most = RING_BYTES - place(at) < r->total - at ? RING_BYTES - place(at)
						      : (size_t)(r->total - at);
	*ret = r->p + place(at);
	*ret_mark = mark_at(r, at);
	if (!r->mark)
		return most;
	while (n < most && mark_at(r, at + n) == *ret_mark)
		n++;
	return n;
}

size_t ring_copy(const struct ring *r, uint64_t at, char *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const char *p;
		bool mark;
		size_t k = ring_piece(r, at + done, &p, &mark);

		if (k == 0)
			break;
		if (k > n - done)
			k = n - done;
		memcpy(out + done, p, k);
		done += k;
	}
	return done;
}
