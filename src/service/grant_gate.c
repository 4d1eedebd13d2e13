#include "service/grant_gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define RECEIPT_MAX_BYTES 65536u
/* enough for the name of a skill, which has at most 64 characters */
#define QUESTION_MAX_BYTES 4096u
/* the shortest pause between two searches for expired grants */
#define EXPIRY_STEP_NS ((uint64_t)NS_PER_SEC)

#define EXPIRED_TEXT "Sandbox admission grant has expired"
#define MISSING_TEXT "Sandbox admission grant is missing"

struct grant_gate {
	struct grant_gate_parts parts;
	struct admission *admission;
	loop_id timer; /* runs on_timer() when the next grant expires; 0 if no grant can expire */
};

static void set_timer(struct grant_gate *g);

/* --- ending sessions ------------------------------------------------------------------------- */

static bool same_workspace(const struct tenant *a, const struct tenant *b)
{
	return !a->legacy && !b->legacy && memcmp(a->key, b->key, sizeof(a->key)) == 0;
}

static bool is_of_workspace(void *arg, const struct tenant *t, const char *id)
{
	return same_workspace(arg, t);
}

static bool is_not_canonical(void *arg, const struct tenant *t, const char *id)
{
	return same_workspace(arg, t) && strcmp(id, ADMISSION_SESSION) != 0;
}

static bool is_any(void *arg, const struct tenant *t, const char *id)
{
	return true;
}

static void on_nothing(void *arg, const struct fault *fault, struct buf *data)
{
}

static void cut(struct grant_gate *g, const struct tenant *t, const char *text)
{
	AUTO_FAULT f = { 0 };

	fault_set(&f, FAULT_ADMISSION, "%s", text);
	g->parts.cut(g->parts.arg, t, &f);
}

/* Ends the actions and sessions of a Workspace that has lost its grant. The actions fail with
 * TEXT. */
static void end_workspace(struct grant_gate *g, struct tenant *t, const char *text,
			  const struct reply *r)
{
	cut(g, t, text);
	sessions_drop(g->parts.sessions, is_of_workspace, t, r);
}

static void on_expired(void *arg, const unsigned char key[TENANT_KEY_BYTES])
{
	const struct reply none = { on_nothing, NULL };
	struct tenant t = { 0 };

	memcpy(t.key, key, sizeof(t.key));
	end_workspace(arg, &t, EXPIRED_TEXT, &none);
}

static void on_timer(void *arg)
{
	struct grant_gate *g = arg;

	g->timer = 0;
	admission_expire(g->admission, clock_real_ns(), on_expired, g);
	set_timer(g);
}

static void set_timer(struct grant_gate *g)
{
	uint64_t next = admission_next_expiry(g->admission), now = clock_real_ns();
	uint64_t wait = next > now + EXPIRY_STEP_NS ? next - now : EXPIRY_STEP_NS;

	if (g->timer || !next)
		return;
	g->timer = loop_add_timer(g->parts.loop, clock_mono_ns() + wait, on_timer, g);
	if (!g->timer)
		out_of_memory();
}

/* --- grants ---------------------------------------------------------------------------------- */

/* A receipt that is sent when the sessions have ended. */
struct receipt {
	struct reply reply;
	struct buf data;
};

static void on_dropped(void *arg, const struct fault *fault, struct buf *none)
{
	struct receipt *r = arg;

	r->reply.done(r->reply.arg, NULL, &r->data);
	buf_done(&r->data);
	free(r);
}

static struct receipt *receipt_new(const struct reply *reply, struct json_writer *w)
{
	struct receipt *r = xcalloc(1, sizeof(*r));

	r->reply = *reply;
	buf_init(&r->data, RECEIPT_MAX_BYTES);
	json_writer_init(w, &r->data, 0);
	json_begin_object(w);
	return r;
}

static void refuse(const struct reply *reply, const struct fault *f)
{
	reply->done(reply->arg, f, NULL);
}

/* Ends the sessions that the new grant does not cover, then sends the receipt. */
static void apply(struct grant_gate *g, struct tenant *t, enum admission_effect effect,
		  struct receipt *receipt)
{
	const struct reply r = { on_dropped, receipt };

	if (effect == ADMISSION_NONE) {
		on_dropped(receipt, NULL, NULL);
		return;
	}
	if (effect == ADMISSION_DROP_SESSIONS)
		cut(g, t, "Sandbox admission grant does not permit sessions");
	sessions_drop(g->parts.sessions,
		      effect == ADMISSION_KEEP_ONE ? is_not_canonical : is_of_workspace, t, &r);
}

/* Fails if the fence has no room for the Workspace of T. */
static int check_room(const struct fence *fence, const struct tenant *t, struct fault *f)
{
	return fence_is_full(fence, t) ? fence_fault(FENCE_FULL, f) : 0;
}

void grant_gate_install(struct grant_gate *g, const struct json_value *data, struct str trusted,
			const struct reply *reply)
{
	const struct admission_record *record;
	struct admission_grant grant;
	enum admission_effect effect;
	uint64_t fenced, now = clock_real_ns();
	AUTO_FAULT f = { 0 };
	struct receipt *receipt;
	struct json_writer w;
	struct tenant t;

	if (admission_check_enabled(g->admission, &f) < 0 ||
	    admission_grant_decode(data, &grant, &f) < 0) {
		refuse(reply, &f);
		return;
	}
	tenant_init(&t, str_of(grant.instance), str_of(grant.workspace), grant.generation);
	fenced = fence_generation(g->parts.fence, &t);
	if (admission_check_install(g->admission, &grant, trusted, fenced, now, &f) < 0 ||
	    check_room(g->parts.fence, &t, &f) < 0 ||
	    admission_install(g->admission, &grant, trusted, fenced, now, &effect, &record, &f) <
		    0) {
		refuse(reply, &f);
		admission_grant_done(&grant);
		return;
	}
	loop_remove(g->parts.loop, &g->timer);
	set_timer(g);
	if (fence_observe(g->parts.fence, &t) == FENCE_ADVANCED)
		g->parts.advanced(g->parts.arg, &t);
	receipt = receipt_new(reply, &w);
	admission_encode_receipt(&grant, record, &w);
	json_end_object(&w);
	admission_grant_done(&grant);
	apply(g, &t, effect, receipt);
}

void grant_gate_revoke(struct grant_gate *g, const struct json_value *data, struct str trusted,
		       const struct reply *reply)
{
	struct admission_grant grant;
	AUTO_FAULT f = { 0 };
	struct receipt *receipt;
	struct json_writer w;
	struct tenant t;

	if (admission_check_enabled(g->admission, &f) < 0 ||
	    admission_revocation_decode(data, &grant, &f) < 0) {
		refuse(reply, &f);
		return;
	}
	if (admission_revoke(g->admission, &grant, trusted, &f) < 0) {
		refuse(reply, &f);
		admission_grant_done(&grant);
		return;
	}
	tenant_init(&t, str_of(grant.instance), str_of(grant.workspace), 1);
	receipt = receipt_new(reply, &w);
	admission_encode_revoked(&grant, &w);
	json_end_object(&w);
	admission_grant_done(&grant);
	end_workspace(g, &t, MISSING_TEXT, &(struct reply){ on_dropped, receipt });
}

/* --- letting tenants pass -------------------------------------------------------------------- */

int grant_gate_check(struct grant_gate *g, const struct tenant *t, enum admission_use use,
		     struct fault *f)
{
	const struct reply none = { on_nothing, NULL };
	struct tenant copy = *t;
	bool expired;
	int r;

	if (admission_check_config(g->admission, f) < 0)
		return -1;
	r = admission_require(g->admission, t, use, clock_real_ns(), &expired, f);
	if (expired)
		end_workspace(g, &copy, EXPIRED_TEXT, &none);
	return r;
}

struct passer {
	struct grant_gate *gate;
	struct tenant tenant;
	enum admission_use use;
	grant_gate_told_fn *fn;
	void *arg;
};

static void on_examined(void *arg, const struct readiness *r)
{
	struct passer *p = arg;
	AUTO_FAULT f = { 0 };
	int result = readiness_is_ready(r) ? grant_gate_check(p->gate, &p->tenant, p->use, &f)
					   : readiness_fault(r, &f);

	p->fn(p->arg, result < 0 ? &f : NULL);
	free(p);
}

void grant_gate_admit(struct grant_gate *g, const struct tenant *t, enum admission_use use,
		      grant_gate_told_fn *fn, void *arg)
{
	struct passer *p;
	AUTO_FAULT f = { 0 };

	if (admission_check_config(g->admission, &f) < 0) {
		fn(arg, &f);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	*p = (struct passer){ g, *t, use, fn, arg };
	examiner_ask(g->parts.examiner, on_examined, p);
}

/* --- specs ----------------------------------------------------------------------------------- */

struct fitting {
	struct grant_gate *gate;
	struct tenant tenant;
	struct box_spec *spec;
	grant_gate_told_fn *fn;
	void *arg;
};

/* Returns true for every session of the Workspace except the session that the tenant is about to
 * use. */
static bool is_another(void *arg, const struct tenant *t, const char *id)
{
	const struct tenant *own = arg;

	return same_workspace(own, t) &&
	       (t->generation != own->generation || strcmp(id, ADMISSION_SESSION) != 0);
}

static int fit(struct grant_gate *g, struct tenant *t, struct box_spec *b, const char *skill_root,
	       struct fault *f)
{
	const char *above = g->parts.workplace->found;
	AUTO_FREE char *host_path = NULL;

	if (!above)
		return fault_set(f, FAULT_READINESS, "there is no default workspace");
	host_path = xasprintf("%s/tenants/%s", above, t->persistent);
	if (admission_rewrite(g->admission, b, host_path, skill_root, f) < 0)
		return -1;
	return admission_check_sessions(g->admission, t,
					sessions_count_if(g->parts.sessions, is_another, t), f);
}

static void on_skill(void *arg, const struct fault *fault, struct buf *data)
{
	struct fitting *n = arg;
	AUTO_JSON doc = NULL;
	AUTO_FAULT f = { 0 };
	struct err e;
	const char *root = NULL;

	/* if the store cannot be read, we act as if the tenant did not have the skill */
	if (!fault && json_parse(data->p, data->n, &doc, &e) == 0)
		root = json_get_str(json_get(json_root(doc), "skill"), "package_root", NULL);
	n->fn(n->arg, fit(n->gate, &n->tenant, n->spec, root, &f) < 0 ? &f : NULL);
	free(n);
}

static void ask_for_skill(struct grant_gate *g, const struct tenant *t, const char *name,
			  const struct reply *r)
{
	AUTO_BUF text = BUF_INIT(QUESTION_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct json_writer w;
	struct err e;

	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key_str(&w, "name", name);
	json_end_object(&w);
	if (json_parse(text.p, text.n, &doc, &e) < 0)
		abort(); /* cannot happen: our own text is valid */
	skills_ask(g->parts.skills, "get", t, json_root(doc), (struct skills_file){ .fd = -1 }, r);
}

void grant_gate_fit(struct grant_gate *g, const struct tenant *t, struct box_spec *b,
		    grant_gate_told_fn *fn, void *arg)
{
	struct tenant copy = *t;
	struct fitting *n;
	AUTO_FAULT f = { 0 };

	if (!b->skill_name) {
		fn(arg, fit(g, &copy, b, NULL, &f) < 0 ? &f : NULL);
		return;
	}
	n = xcalloc(1, sizeof(*n));
	*n = (struct fitting){ g, *t, b, fn, arg };
	ask_for_skill(g, t, b->skill_name, &(struct reply){ on_skill, n });
}

/* --- the gate -------------------------------------------------------------------------------- */

bool grant_gate_is_on(const struct grant_gate *g)
{
	return g->admission->active;
}

void grant_gate_configure(struct grant_gate *g, const struct json_value *section)
{
	const struct reply none = { on_nothing, NULL };
	bool was_on = grant_gate_is_on(g);

	admission_configure(g->admission, section);
	if (was_on || !grant_gate_is_on(g))
		return;
	cut(g, NULL, MISSING_TEXT);
	sessions_drop(g->parts.sessions, is_any, NULL, &none);
}

struct grant_gate *grant_gate_new(struct admission *a, const struct grant_gate_parts *parts)
{
	struct grant_gate *g = xcalloc(1, sizeof(*g));

	g->admission = a;
	g->parts = *parts;
	return g;
}

void grant_gate_free(struct grant_gate *g)
{
	loop_remove(g->parts.loop, &g->timer);
	free(g);
}
