#include "guest/state_blob.h"

#include "base/cleanup.h"

static void answer(struct connection *c, uint32_t stream, struct str blob)
{
	AUTO_BUF b = BUF_INIT(STATE_MAX_BYTES + 64);

	state_encode(&b, &(struct state_message){ c->guest->state_version, blob });
	connection_send(c, FRAME_STATE, 0, stream, b.p, b.n);
}

static void refuse(struct connection *c, uint32_t stream, enum err_code code, const char *text)
{
	AUTO_BUF b = BUF_INIT(512);

	error_encode(&b, (unsigned)code, text);
	connection_send(c, FRAME_ERROR, 0, stream, b.p, b.n);
}

void state_blob_get(struct connection *c, uint32_t stream)
{
	const struct buf *kept = &c->guest->state;

	answer(c, stream, (struct str){ kept->p, kept->n });
}

void state_blob_put(struct connection *c, uint32_t stream, struct str body)
{
	struct guest *g = c->guest;
	struct state_message m;
	struct pool *pool = &g->backgrounds.pool;
	AUTO_BUF fresh = BUF_INIT(STATE_MAX_BYTES);

	if (state_decode(body, &m) < 0) {
		refuse(c, stream, ERR_PROTOCOL, "bad state message");
		return;
	}
	if (m.blob.n > STATE_MAX_BYTES) {
		refuse(c, stream, ERR_LIMIT, "the state is larger than 4 MiB");
		return;
	}
	if (m.version != g->state_version) {
		refuse(c, stream, ERR_BUSY, "the state was changed meanwhile");
		return;
	}
	/* give back the memory of the old blob, which the new blob replaces */
	pool_give(pool, g->state.n);
	if (!pool_take(pool, m.blob.n)) {
		/* cannot fail, because these bytes were given back just now */
		IGNORE(pool_take(pool, g->state.n));
		refuse(c, stream, ERR_LIMIT, POOL_REFUSAL);
		return;
	}
	/* the buffer must not take more memory than the pool has counted */
	fresh.max = m.blob.n;
	buf_add(&fresh, m.blob.p, m.blob.n);
	if (buf_failed(&fresh)) { /* the old state stays */
		pool_give(pool, m.blob.n);
		IGNORE(pool_take(pool, g->state.n));
		refuse(c, stream, ERR_LIMIT, "no memory for the state");
		return;
	}
	buf_done(&g->state);
	g->state = fresh;
	buf_init(&fresh, 0); /* the guest owns the memory now */
	g->state_version++;
	answer(c, stream, (struct str){ 0 });
}
