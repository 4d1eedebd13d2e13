/* The table of sessions, and questions about it. The reaper ends idle sessions and forgets
 * processes that ended long ago. A trial runs one command in a sandbox of its own. */
#include "service/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "service/session.h"

#define TRIAL_SPEC_MAX_BYTES 65536u /* enough for a path and a line of shell */
#define TRIAL_OUTPUT_MAX_BYTES (2u << 20)

/* --- slots ----------------------------------------------------------------------------------- */

static bool same_tenant(const struct tenant *a, const struct tenant *b)
{
	return a->legacy == b->legacy && (a->legacy || strcmp(a->placement, b->placement) == 0);
}

/* The hash is FNV-1a. A peer can choose ids that are all in one bucket. This does little harm,
 * because there are at most a few thousand ids (max_sessions in service/limits.h). */
static struct slot **bucket_of(struct sessions *all, const struct tenant *t, const char *id)
{
	uint32_t hash = 2166136261u;

	for (const char *at = t->legacy ? "" : t->placement; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	for (const char *at = id; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	return &all->bucket[hash % SLOT_BUCKETS];
}

static struct slot *slot_find(struct sessions *all, const struct tenant *t, const char *id)
{
	struct slot *s = *bucket_of(all, t, id);

	while (s && (strcmp(s->id, id) != 0 || !same_tenant(&s->tenant, t)))
		s = s->next;
	return s;
}

struct slot *slot_get(struct sessions *all, const struct tenant *t, const char *id)
{
	struct slot *s = slot_find(all, t, id), **bucket;

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->all = all;
	s->tenant = *t;
	s->id = xstrdup(id);
	bucket = bucket_of(all, t, id);
	s->next = *bucket;
	*bucket = s;
	return s;
}

static void slot_free(struct slot *s)
{
	struct slot **at = bucket_of(s->all, &s->tenant, s->id);

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	loop_remove(s->all->loop, &s->soon);
	free(s->id);
	free(s);
}

void slot_release(struct slot *s)
{
	if (!s->session && !s->queue)
		slot_free(s);
}

static struct slot *next_slot(const struct sessions *all, size_t *bucket, struct slot *s)
{
	if (s && s->next)
		return s->next;
	while (*bucket < SLOT_BUCKETS) {
		struct slot *first = all->bucket[(*bucket)++];

		if (first)
			return first;
	}
	return NULL;
}

/* The body of the loop may free the slot S, and no other slot. */
#define FOR_EACH_SLOT(all, s)                                                    \
	for (size_t at_ = 0, once_ = 1; once_; once_ = 0)                        \
		for (struct slot *s = next_slot(all, &at_, NULL), *next_ = NULL; \
		     s && (next_ = next_slot(all, &at_, s), true); s = next_)

static struct session *visible(const struct slot *s)
{
	return s && s->session && !s->session->closing ? s->session : NULL;
}

/* --- questions ------------------------------------------------------------------------------- */

static struct session *find(struct sessions *all, const struct tenant *t, const char *id,
			    struct fault *f)
{
	struct session *n = visible(slot_find(all, t, id));

	if (!n)
		fault_set(f, FAULT_SESSION_NOT_FOUND, "session %s not found", id);
	return n;
}

static void write_with_processes(struct session *n, struct json_writer *w)
{
	struct process *plain = session_find_process(n, "default");

	json_begin_object(w);
	session_write_members(n, w);
	if (n->process) {
		json_key(w, "managed_processes");
		json_begin_object(w);
		for (struct process *p = n->process; p; p = process_next(p)) {
			json_key(w, process_id(p));
			process_write_info(p, n->slot->id, w);
		}
		json_end_object(w);
	}
	if (plain) {
		json_key(w, "managed_process");
		process_write_info(plain, n->slot->id, w);
	}
	json_end_object(w);
}

int sessions_write(struct sessions *all, const struct tenant *t, const char *id,
		   struct json_writer *w, struct fault *f)
{
	struct session *n = find(all, t, id, f);

	if (!n)
		return -1;
	write_with_processes(n, w);
	return 0;
}

void sessions_write_all(struct sessions *all, const struct tenant *t, struct json_writer *w)
{
	FOR_EACH_SLOT(all, s)
	if (visible(s) && same_tenant(&s->tenant, t))
		session_write_info(s->session, w);
}

struct process *sessions_find_process(struct sessions *all, const struct tenant *t, const char *id,
				      const char *process_id, struct fault *f)
{
	struct session *n = find(all, t, id, f);
	struct process *p = n ? session_find_process(n, process_id) : NULL;

	if (n && !p)
		fault_set(f, FAULT_PROCESS_NOT_FOUND,
			  "session %s has no managed process with process_id=%s", id, process_id);
	return p;
}

int sessions_write_process(struct sessions *all, const struct tenant *t, const char *id,
			   const char *process_id, struct json_writer *w, struct fault *f)
{
	struct process *p = sessions_find_process(all, t, id, process_id, f);

	if (!p)
		return -1;
	process_write_info(p, id, w);
	return 0;
}

static void count_slot(const struct slot *s, struct session_counts *c)
{
	const struct session *n = s->session;

	c->creating += s->queue && s->queue->stage == STAGE_CREATING;
	if (!n)
		return;
	c->sessions += !n->closing;
	c->closing += n->closing;
	for (const struct process *p = n->process; p; p = process_next(p)) {
		c->running_processes += process_is_running(p);
		c->completed_processes += !process_is_running(p);
	}
}

void sessions_count(const struct sessions *all, const struct tenant *t, struct session_counts *ret)
{
	*ret = (struct session_counts){ 0 };
	FOR_EACH_SLOT(all, s)
	if (!s->hidden && (!t || same_tenant(&s->tenant, t)))
		count_slot(s, ret);
}

unsigned sessions_count_if(struct sessions *all, session_filter *matches, void *arg)
{
	unsigned n = 0;

	FOR_EACH_SLOT(all, s)
	if (!s->hidden && (s->session || s->queue) && matches(arg, &s->tenant, s->id))
		n++;
	return n;
}

/* --- the reaper ------------------------------------------------------------------------------ */

unsigned sessions_running_processes(const struct sessions *all)
{
	struct session_counts c;

	sessions_count(all, NULL, &c);
	return c.running_processes;
}

/* Forgets processes that ended longer ago than the retention time. */
static void forget_old_processes(struct sessions *all, uint64_t now_ns)
{
	uint64_t keep_ns = (uint64_t)all->limits->completed_process_retention_sec * NS_PER_SEC;

	FOR_EACH_SLOT(all, s)
	for (struct process *p = s->session ? s->session->process : NULL, *next; p; p = next) {
		next = process_next(p);
		if (!process_is_running(p) && now_ns - process_ended_ns(p) >= keep_ns)
			session_forget_process(s->session, p);
	}
}

static struct process *oldest_completed(struct sessions *all, struct session **ret_session)
{
	struct process *oldest = NULL;

	FOR_EACH_SLOT(all, s)
	for (struct process *p = s->session ? s->session->process : NULL; p; p = process_next(p))
		if (!process_is_running(p) &&
		    (!oldest || process_ended_ns(p) < process_ended_ns(oldest))) {
			oldest = p;
			*ret_session = s->session;
		}
	return oldest;
}

void sessions_trim_completed(struct sessions *all)
{
	struct session_counts c;
	struct session *of = NULL;

	sessions_count(all, NULL, &c);
	for (unsigned n = c.completed_processes; n > all->limits->max_completed_processes; n--) {
		struct process *oldest = oldest_completed(all, &of);

		session_forget_process(of, oldest);
	}
}

static void set_reaper(struct sessions *all);

static void on_reaper(void *arg)
{
	struct sessions *all = arg;
	uint64_t now = clock_mono_ns();

	all->reaper = 0;
	forget_old_processes(all, now);
	FOR_EACH_SLOT(all, s)
	if (visible(s) && !s->queue && session_is_idle(s->session, now))
		sessions_expire(s);
	set_reaper(all);
}

static void set_reaper(struct sessions *all)
{
	uint64_t every_ns = SESSION_REAPER_SEC * NS_PER_SEC;

	if (all->ttl_ns && all->ttl_ns < every_ns)
		every_ns = all->ttl_ns;
	loop_remove(all->loop, &all->reaper);
	all->reaper = loop_add_timer(all->loop, clock_mono_ns() + every_ns, on_reaper, all);
	if (!all->reaper)
		out_of_memory();
}

void sessions_set_ttl(struct sessions *all, uint64_t seconds)
{
	all->ttl_ns = seconds * NS_PER_SEC;
	set_reaper(all);
}

uint64_t sessions_ttl_sec(const struct sessions *all)
{
	return all->ttl_ns / NS_PER_SEC;
}

/* --- a trial --------------------------------------------------------------------------------- */

struct trial {
	struct sessions *all;
	struct tenant tenant;
	char *id;
	struct reply reply;
	struct fault fault;
	struct buf printed;
};

static void on_trial_gone(void *arg, const struct fault *ignored, struct buf *data)
{
	struct trial *t = arg;

	t->reply.done(t->reply.arg, t->fault.class == FAULT_NONE ? NULL : &t->fault, &t->printed);
	fault_done(&t->fault);
	buf_done(&t->printed);
	free(t->id);
	free(t);
}

/* The trial fails if its command failed or timed out. */
static void take_result(struct trial *t, const struct buf *data)
{
	AUTO_JSON doc = NULL;
	struct err e;
	const struct json_value *code, *out;

	if (json_parse(data->p, data->n, &doc, &e) < 0)
		abort(); /* cannot happen: our own text is valid */
	code = json_get(json_root(doc), "exit_code");
	out = json_get(json_root(doc), "stdout");
	if (!code || code->type != JSON_INT || code->integer != 0)
		fault_set(&t->fault, FAULT_BOX, "a trial command failed in its sandbox: %.200s",
			  json_get_str(json_root(doc), "stderr", ""));
	else
		buf_add(&t->printed, out->string.p, out->string.n);
}

static void on_trial_run(void *arg, const struct fault *fault, struct buf *data)
{
	struct trial *t = arg;
	const struct reply r = { on_trial_gone, t };

	if (fault)
		fault_about(&t->fault, fault->class, "", (struct str){ fault->text, fault->n }, "");
	else
		take_result(t, data);
	sessions_delete(t->all, &t->tenant, t->id, str_of(t->id), &r);
}

static void decode_trial(const struct session_trial *t, struct box_spec *ret)
{
	AUTO_BUF text = BUF_INIT(TRIAL_SPEC_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct json_writer w;
	AUTO_FAULT f = { 0 };
	struct err e;

	json_writer_init(&w, &text, 0);
	json_begin_object(&w);
	json_key_str(&w, "session_id", t->id);
	json_key_str(&w, "cmd", t->command);
	json_key_int(&w, "timeout_sec", t->seconds);
	json_key_str(&w, "host_path", t->host_path);
	json_end_object(&w);
	if (json_parse(text.p, text.n, &doc, &e) < 0 ||
	    box_spec_decode(json_root(doc), ret, &f) < 0)
		abort(); /* cannot happen: our own text is valid */
}

void sessions_try(struct sessions *all, const struct session_trial *t, const struct reply *r)
{
	struct trial *n = xcalloc(1, sizeof(*n));
	const struct reply mine = { on_trial_run, n };
	struct box_spec b;

	decode_trial(t, &b);
	n->all = all;
	n->id = xstrdup(t->id);
	n->reply = *r;
	buf_init(&n->printed, TRIAL_OUTPUT_MAX_BYTES);
	tenant_init(&n->tenant, STR("!"), STR("trial"), 1); /* no peer can have this instance id */
	slot_get(all, &n->tenant, t->id)->hidden = true;
	sessions_exec(all, &n->tenant, &b, 0, &mine);
}

/* --- ending many sessions -------------------------------------------------------------------- */

/* A call of sessions_drop() that waits until its sessions are gone. */
struct drop {
	unsigned left;
	struct reply reply;
};

static void drop_told(void *arg, const struct fault *fault, struct buf *data)
{
	struct drop *d = arg;

	if (--d->left > 0)
		return;
	d->reply.done(d->reply.arg, NULL, data);
	free(d);
}

void sessions_drop(struct sessions *all, session_filter *matches, void *arg, const struct reply *r)
{
	struct drop *d = xcalloc(1, sizeof(*d));
	const struct reply each = { drop_told, d };
	AUTO_BUF none = BUF_INIT(64);

	d->reply = *r;
	d->left = 1;
	FOR_EACH_SLOT(all, s)
	{
		if (!matches(arg, &s->tenant, s->id) || (!s->session && !s->queue))
			continue;
		d->left++;
		sessions_delete(all, &s->tenant, s->id, str_of(s->id), &each);
	}
	drop_told(d, NULL, &none);
}

void sessions_refuse(struct sessions *all, bool refuse)
{
	all->refuse = refuse;
}

/* --- the table ------------------------------------------------------------------------------- */

struct sessions *sessions_new(struct loop *loop, struct hands *hands, struct ceiling *ceiling,
			      const struct box_limits *limits, const char *instance,
			      const struct session_engine *engine)
{
	struct sessions *all = xcalloc(1, sizeof(*all));

	all->loop = loop;
	all->hands = hands;
	all->ceiling = ceiling;
	all->limits = limits;
	all->instance = xstrdup(instance);
	all->engine = *engine;
	sessions_set_ttl(all, SESSION_TTL_SEC);
	return all;
}

void sessions_free(struct sessions *all)
{
	loop_remove(all->loop, &all->reaper);
	FOR_EACH_SLOT(all, s)
	{
		slot_drop_work(s);
		if (s->session)
			session_free(s->session);
		slot_free(s);
	}
	free(all->instance);
	free(all);
}
