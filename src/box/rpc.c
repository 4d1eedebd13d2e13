#include "box/rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "box/actions.h"
#include "box/joiner.h"
#include "service/runtime.h"

#define REPLY_MAX_BYTES (64u << 20)

struct rpc {
	struct rpc *next;
	struct server *server;
	struct rpc_transport transport;
	bool legacy;
	struct action *actions;
	unsigned n_actions;
	struct uploads uploads;
	struct joiner joiner; /* legacy peers split long messages */
	struct holding joined;
};

/* --- the end of an action -------------------------------------------------------------------- */

/* Removes the action from its connection. */
static void detach(struct action *a)
{
	struct action **at;

	if (!a->rpc)
		return;
	for (at = &a->rpc->actions; *at != a; at = &(*at)->next)
		;
	*at = a->next;
	a->rpc->n_actions--;
	a->rpc = NULL;
}

void action_free(struct action *a)
{
	detach(a);
	envelope_done(&a->request);
	holding_done(&a->held);
	free(a);
}

static void send(struct rpc *r, struct buf *b)
{
	if (buf_failed(b))
		log_line(LOG_ERROR, "an answer of more than %u MiB was dropped",
			 REPLY_MAX_BYTES >> 20);
	else
		r->transport.send(r->transport.arg, (struct str){ b->p, b->n });
}

static void tell_failure(struct action *a, const struct fault *f)
{
	AUTO_BUF b = BUF_INIT(REPLY_MAX_BYTES);

	struct json_writer w;

	if (!a->rpc)
		return;
	json_writer_init(&w, &b, 0);
	envelope_put_fault(&w, a->request.seq, f);
	send(a->rpc, &b);
}

void action_fail(struct action *a, const struct fault *f)
{
	tell_failure(a, f);
	action_free(a);
}

/* Answers with DATA. If a newer generation has taken over meanwhile, the action fails instead, and
 * the peer does not get DATA. */
void action_succeed(struct action *a, struct str data)
{
	AUTO_BUF b = BUF_INIT(REPLY_MAX_BYTES);
	AUTO_FAULT f = { 0 };
	struct json_writer w;

	if (!actions_may_answer(a, &f)) {
		action_fail(a, &f);
		return;
	}
	if (a->rpc) {
		json_writer_init(&w, &b, 0);
		envelope_begin_success(&w, a->request.seq);
		json_written(&w, data.p, data.n);
		envelope_end_success(&w);
		send(a->rpc, &b);
	}
	action_free(a);
}

/* --- requests -------------------------------------------------------------------------------- */

static void refuse(struct rpc *r, const struct envelope_request *q, const struct fault *f)
{
	AUTO_BUF b = BUF_INIT(REPLY_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	envelope_put_refusal(&w, q, f);
	send(r, &b);
}

/* Runs a request as an action. Takes over Q and HELD. */
static void begin(struct rpc *r, const struct envelope_request *q, struct holding held)
{
	struct action *a = xcalloc(1, sizeof(*a));

	a->rpc = r;
	a->server = r->server;
	a->legacy = r->legacy;
	a->request = *q;
	a->held = held;
	a->next = r->actions;
	r->actions = a;
	r->n_actions++;
	actions_run(a);
}

static void take_message(struct rpc *r, struct str message)
{
	AUTO_FAULT f = { 0 };
	struct envelope_request q;
	enum envelope_kind kind = envelope_read(message, &q, &f);
	struct holding held = { .ceiling = r->server->ceiling };

	if (kind == ENVELOPE_IGNORED)
		return;
	if (kind == ENVELOPE_REQUEST && r->n_actions >= ENVELOPE_ACTIONS_MAX) {
		envelope_busy(&f);
	} else if (kind == ENVELOPE_REQUEST) {
		/* count the message too, because an action copies texts from the document */
		if (holding_set(&held, json_held_bytes(q.doc) + message.n)) {
			begin(r, &q, held);
			return;
		}
		fault_set(&f, FAULT_CAPACITY,
			  "the server's memory ceiling is near; it cannot take a request of %zu "
			  "bytes",
			  message.n);
	}
	refuse(r, &q, &f);
	envelope_done(&q);
}

int rpc_take(struct rpc *r, struct str message)
{
	int got = r->legacy ? joiner_add(&r->joiner, message, &message) : 1;

	if (!holding_set(&r->joined, joiner_held_bytes(&r->joiner)))
		return -ENOMEM;
	if (got > 0)
		take_message(r, message);
	return got < 0 ? got : 0;
}

/* --- the connection -------------------------------------------------------------------------- */

struct rpc *rpc_new(struct server *s, bool legacy, const struct rpc_transport *t)
{
	struct rpc *r = xcalloc(1, sizeof(*r));

	r->server = s;
	r->legacy = legacy;
	r->transport = *t;
	uploads_init(&r->uploads, s->ceiling,
		     (uint64_t)runtime_limits(s->runtime)->max_rpc_file_bytes);
	joiner_init(&r->joiner);
	r->joined.ceiling = s->ceiling;
	r->next = s->rpcs;
	s->rpcs = r;
	return r;
}

void rpc_free(struct rpc *r)
{
	struct rpc **at = &r->server->rpcs;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	while (r->actions) {
		struct action *a = r->actions;

		detach(a);
		actions_cancel(a);
	}
	uploads_done(&r->uploads);
	joiner_done(&r->joiner);
	holding_done(&r->joined);
	free(r);
}

struct uploads *rpc_uploads(struct rpc *r)
{
	return &r->uploads;
}

size_t rpc_output_max(const struct rpc *r)
{
	return r->legacy ? RPC_LEGACY_OUTPUT_BYTES : 0;
}

static bool is_of(const struct action *a, const struct tenant *t)
{
	return a->of_tenant && !a->tenant.legacy &&
	       memcmp(a->tenant.key, t->key, sizeof(t->key)) == 0;
}

static bool is_older(const struct action *a, const struct tenant *newer)
{
	return is_of(a, newer) && a->tenant.generation < newer->generation;
}

static bool uses_sandbox(const struct action *a, const struct tenant *t)
{
	return a->of_sandbox && (!t || is_of(a, t));
}

static void end_if(struct server *s,
		   bool (*matches)(const struct action *a, const struct tenant *t),
		   const struct tenant *t, const struct fault *why)
{
	for (struct rpc *r = s->rpcs; r; r = r->next)
		for (struct action *a = r->actions, *next; a; a = next) {
			next = a->next;
			if (!matches(a, t))
				continue;
			tell_failure(a, why);
			detach(a);
			actions_cancel(a);
		}
}

void rpc_end_stale(struct server *s, const struct tenant *newer)
{
	AUTO_FAULT f = { 0 };

	fence_fault(FENCE_STALE, &f);
	end_if(s, is_older, newer, &f);
}

void rpc_cut(struct server *s, const struct tenant *t, const struct fault *why)
{
	end_if(s, uses_sandbox, t, why);
}
