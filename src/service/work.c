/*
 * The queue of one slot. slot_continue() calls the function of the first work, such as run_exec().
 * The function tests in order what the work needs. If something is missing, the function begins the
 * step that provides the missing thing, and returns. When this step has ended, slot_continue() is
 * called, and the function starts from its beginning again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "service/blueprint.h"
#include "service/session.h"
#include "spec/spec.h"
#include "wire/websocket.h"

#define DATA_MAX_BYTES (64u << 20)
#define SPEC_MAX_BYTES (8u << 20)             /* enough for a spec with a thousand mounts */
#define CREATE_DEADLINE_NS (600 * NS_PER_SEC) /* long, because the image may have to be fetched */

static void run(struct slot *s);

/* --- the queue ------------------------------------------------------------------------------- */

static void work_free(struct work *w)
{
	box_spec_done(&w->spec);
	process_spec_done(&w->process);
	buf_done(&w->shown);
	capture_done(&w->out);
	capture_done(&w->err);
	fault_done(&w->fault);
	buf_done(&w->data);
	loop_remove(w->slot->all->loop, &w->kill_timer);
	free(w);
}

static void on_soon(void *arg)
{
	struct slot *s = arg;

	s->soon = 0;
	run(s);
}

/* Runs the first work of the queue from the loop, so that a reply never comes before the function
 * that queued the work has returned. */
void slot_continue(struct slot *s)
{
	if (!s->soon)
		s->soon = loop_add_timer(s->all->loop, clock_mono_ns(), on_soon, s);
	if (!s->soon)
		out_of_memory();
}

static struct work *work_add(struct sessions *all, const struct tenant *t, const char *id,
			     enum work_kind kind, const struct reply *r)
{
	struct slot *s = slot_get(all, t, id);
	struct work *w = xcalloc(1, sizeof(*w)), **at = &s->queue;

	w->slot = s;
	w->kind = kind;
	if (r)
		w->reply = *r;
	w->unwanted = !r;
	buf_init(&w->data, DATA_MAX_BYTES);
	buf_init(&w->shown, WEBSOCKET_MESSAGE_MAX_BYTES);
	if (!s->queue)
		/* no other work is in front of W. Otherwise work_finish() of that work would call
		 * slot_continue() */
		slot_continue(s);
	while (*at)
		at = &(*at)->next;
	*at = w;
	return w;
}

/* Frees all work of the slot when the server ends. Calls no reply. */
void slot_drop_work(struct slot *s)
{
	while (s->queue) {
		struct work *w = s->queue;

		s->queue = w->next;
		if (w->request)
			hands_drop(w->request);
		job_free(w->job);
		work_free(w);
	}
}

static void answer(struct work *w)
{
	if (!w->unwanted)
		w->reply.done(w->reply.arg, w->fault.text ? &w->fault : NULL, &w->data);
}

void work_finish(struct work *w)
{
	struct slot *s = w->slot;

	s->queue = w->next;
	answer(w);
	work_free(w);
	if (s->queue)
		slot_continue(s);
	else
		slot_release(s);
}

void work_cancel(struct work *w)
{
	struct work **at = &w->slot->queue;

	w->unwanted = true;
	if (w->stage == STAGE_RUNNING) {
		execution_cancel(w);
		return;
	}
	if (w->stage != STAGE_QUEUED || w->kind == WORK_DELETE)
		return; /* work that has begun goes on to its end, without an answer */
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	work_free(w);
}

/* --- a sandbox for the work ------------------------------------------------------------------ */

/* If a path that the peer named is missing or not allowed, sets the fault with the text that the
 * Box protocol prescribes, and returns true. */
static bool blame_mount(struct work *w, uint64_t mount, enum err_code code)
{
	bool extra;
	const char *path = mount == HAND_MOUNT_JUDGED ? w->spec.host_path
						      : blueprint_mount(&w->spec, mount, &extra);

	if (!path || (code != ERR_NOT_FOUND && code != ERR_DENIED))
		return false;
	fault_about(&w->fault, FAULT_VALIDATION,
		    mount != HAND_MOUNT_JUDGED && extra ? "extra mount host_path " : "host_path ",
		    str_of(path),
		    code == ERR_NOT_FOUND ? " does not exist" : " is blocked for security");
	return true;
}

/* If the peer made a mistake, sets a fault that names the mistake. Every other failure except a
 * reached limit counts as a failure of the backend. */
static void fail_creation(struct work *w, uint64_t mount, const struct err *why)
{
	struct sessions *all = w->slot->all;

	if (blame_mount(w, mount, why->code))
		return;
	/* every error about a mount counts as a mistake of the peer, for instance if our account
	 * may not look into the directory */
	if (mount || why->code == ERR_INVALID || why->code == ERR_DENIED ||
	    why->code == ERR_NOT_FOUND) {
		fault_set(&w->fault, FAULT_VALIDATION, "%s", why->msg);
		return;
	}
	if (why->code == ERR_LIMIT) {
		fault_set(&w->fault, FAULT_CAPACITY, "%s", why->msg);
		return;
	}
	fault_set(&w->fault, FAULT_BOX, "%s backend error: %s%s%s", session_backend_name(all),
		  why->msg, why->hint ? "\n" : "", why->hint ? why->hint : "");
	all->engine.failed(all->engine.arg);
}

/* Logs the warnings LINES about a new sandbox. The warnings say which limits the engine does not
 * enforce. This function is called only for a trial, a temporary sandbox that the server makes for
 * itself (sessions_try()). */
static void log_warnings(const char *lines)
{
	struct str rest = str_of(lines);

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');

		if (line.n)
			log_line(LOG_WARN, "%.*s", (int)line.n, line.p);
	}
}

static void on_created(void *arg, const struct hands_answer *a)
{
	struct work *w = arg;
	struct err e = { 0 };

	w->request = NULL;
	w->stage = STAGE_QUEUED;
	if (w->slot->hidden && !a->err)
		log_warnings(a->warnings);
	if (a->err)
		fail_creation(w, a->mount, a->err);
	else if (session_new(w->slot, &w->spec, w->logged, a->leash, a->connection, &e) < 0)
		fail_creation(w, 0, &e);
	else
		w->slot->all->engine.made(w->slot->all->engine.arg, a->held);
	slot_continue(w->slot);
}

/* Asks a hand for the sandbox. */
static int ask_for_sandbox(struct work *w, struct fault *f)
{
	struct sessions *all = w->slot->all;
	AUTO_FREE char *name = session_sandbox_name(w->slot);
	AUTO_BUF text = BUF_INIT(SPEC_MAX_BYTES);
	struct hand_request q = { .task = HAND_CREATE, .makeable = 1 };
	struct spec s;
	struct err e;
	bool local;
	int r;

	if (w->spec.host_path && w->spec.host_path_mode == BOX_MODE_NONE) {
		q.makeable = 0;
		q.judged = w->spec.host_path;
	} else if (!w->spec.host_path) {
		q.makeable = 0;
	}
	all->engine.list_roots(all->engine.arg, &q);
	r = all->engine.plan(all->engine.arg, &w->spec, name, w->slot->id, &s, f);
	if (r == 0) {
		w->logged = !s.log_disabled;
		hands_write_spec(&s, &text);
		q.spec = (struct str){ buf_str(&text), text.n };
	}
	local = s.image.kind == IMAGE_HOST;
	spec_done(&s);
	if (r == 0 && (local ? hands_ask : hands_ask_slow)(all->hands, &q,
							   clock_mono_ns() + CREATE_DEADLINE_NS,
							   on_created, w, &w->request, &e) < 0)
		r = fault_set(f, FAULT_BOX, "%s backend error: %s", session_backend_name(all),
			      e.msg);
	return r;
}

static void create_sandbox(struct work *w)
{
	struct sessions *all = w->slot->all;
	struct session_counts have;

	sessions_count(all, NULL, &have);
	if (!session_backend_name(all))
		fault_set(&w->fault, FAULT_BACKEND_UNAVAILABLE,
			  "LangBot Box backend unavailable. Install and start Docker or nsjail "
			  "before using exec.");
	else if (all->refuse)
		fault_set(&w->fault, FAULT_RUNTIME_UNAVAILABLE, "Box runtime is shutting down");
	else if (have.sessions + have.creating + have.closing >= all->limits->max_sessions &&
		 !w->slot->hidden)
		fault_set(&w->fault, FAULT_CAPACITY, "Box session capacity reached (%lld)",
			  (long long)all->limits->max_sessions);
	else if (ask_for_sandbox(w, &w->fault) == 0)
		w->stage = STAGE_CREATING;
	if (w->stage != STAGE_CREATING)
		work_finish(w);
}

static void close_session(struct work *w)
{
	w->stage = STAGE_CLOSING;
	session_close(w->slot->session);
}

/* Returns true if there is a session that the work can use. Otherwise finishes the work with a
 * fault, or the work has to wait: until the old session has ended, or until a sandbox is made. */
static bool have_session(struct work *w)
{
	struct session *n = w->slot->session;

	if (w->fault.text) {
		work_finish(w);
		return false;
	}
	if (!n) {
		create_sandbox(w);
		return false;
	}
	if (n->closing) /* the work waits until the session has ended */
		return false;
	if (!n->line || session_is_idle(n, clock_mono_ns())) {
		close_session(w);
		return false;
	}
	if (box_spec_compare(&n->spec, &w->spec, str_of(w->slot->id), &w->fault) < 0) {
		work_finish(w);
		return false;
	}
	if (!box_spec_same_mounts(&n->spec, &w->spec)) {
		close_session(w);
		return false;
	}
	session_touch(n);
	return true;
}

/* --- kinds of work --------------------------------------------------------------------------- */

static void run_create(struct work *w)
{
	struct json_writer json;

	if (!have_session(w))
		return;
	json_writer_init(&json, &w->data, 0);
	session_write_info(w->slot->session, &json);
	work_finish(w);
}

static void run_exec(struct work *w)
{
	if (w->fault.text || w->data.n > 0) { /* the command has run, or has failed before it ran */
		work_finish(w);
		return;
	}
	if (!have_session(w))
		return;
	if (w->unwanted)
		work_finish(w);
	else
		execution_begin(w);
}

static void run_delete(struct work *w)
{
	struct json_writer json;

	if (w->slot->session) {
		if (!w->slot->session->closing)
			close_session(w);
		return;
	}
	if (w->stage != STAGE_CLOSING && !w->joins) {
		fault_set(&w->fault, FAULT_SESSION_NOT_FOUND, "session %s not found", w->slot->id);
	} else {
		json_writer_init(&json, &w->data, 0);
		json_begin_object(&json);
		json_key(&json, "deleted");
		json_strn(&json, w->shown.p, w->shown.n);
		json_end_object(&json);
	}
	work_finish(w);
}

static bool find_session(struct work *w)
{
	struct session *n = w->slot->session;

	if (n && n->line && !n->closing)
		return true;
	fault_set(&w->fault, FAULT_SESSION_NOT_FOUND, "session %s not found", w->slot->id);
	work_finish(w);
	return false;
}

static void start_process(struct work *w)
{
	struct sessions *all = w->slot->all;
	struct session *n = w->slot->session;
	struct json_writer json;
	struct process *p;
	struct err e;

	if (sessions_running_processes(all) >= all->limits->max_managed_processes) {
		fault_set(&w->fault, FAULT_CAPACITY, "Box managed process capacity reached (%lld)",
			  (long long)all->limits->max_managed_processes);
	} else if (session_start_process(n, &w->process, &p, &e) < 0) {
		fault_set(&w->fault, FAULT_BOX, "%s backend error: %s", session_backend_name(all),
			  e.msg);
	} else {
		json_writer_init(&json, &w->data, 0);
		process_write_info(p, w->slot->id, &json);
	}
	work_finish(w);
}

static void run_start(struct work *w)
{
	struct process *old;

	if (!find_session(w))
		return;
	old = session_find_process(w->slot->session, w->process.process_id);
	if (old && process_is_running(old)) {
		w->stage = STAGE_ENDING;
		process_stop(old);
		return;
	}
	if (old)
		session_forget_process(w->slot->session, old);
	session_touch(w->slot->session);
	start_process(w);
}

static void run_stop(struct work *w)
{
	struct json_writer json;
	struct process *p;

	if (!find_session(w))
		return;
	p = session_find_process(w->slot->session, w->process.process_id);
	if (!p) {
		fault_set(&w->fault, FAULT_PROCESS_NOT_FOUND,
			  "session %s has no managed process with process_id=%s", w->slot->id,
			  w->process.process_id);
		work_finish(w);
		return;
	}
	if (process_is_running(p)) {
		w->stage = STAGE_ENDING;
		process_stop(p);
		return;
	}
	session_forget_process(w->slot->session, p);
	session_touch(w->slot->session);
	json_writer_init(&json, &w->data, 0);
	json_begin_object(&json);
	json_key_str(&json, "stopped", w->process.process_id);
	json_end_object(&json);
	work_finish(w);
}

/* Ends a session that is idle or has lost its sandbox. This work is queued by the reaper
 * (sessions.c), or when a sandbox has ended. */
static void run_expire(struct work *w)
{
	struct session *n = w->slot->session;

	if (n && !n->closing && (!n->line || session_is_idle(n, clock_mono_ns())))
		close_session(w);
	else if (!n || !n->closing)
		work_finish(w);
}

static void run(struct slot *s)
{
	static void (*const by_kind[])(struct work * w) = {
		[WORK_CREATE] = run_create, [WORK_EXEC] = run_exec, [WORK_DELETE] = run_delete,
		[WORK_START] = run_start,   [WORK_STOP] = run_stop, [WORK_EXPIRE] = run_expire,
	};

	if (s->queue)
		by_kind[s->queue->kind](s->queue);
	else
		slot_release(s);
}

/* --- what callers ask for -------------------------------------------------------------------- */

struct work *sessions_create(struct sessions *all, const struct tenant *t, struct box_spec *b,
			     const struct reply *r)
{
	struct work *w = work_add(all, t, b->session_id, WORK_CREATE, r);

	w->spec = *b;
	*b = (struct box_spec){ 0 };
	return w;
}

struct work *sessions_exec(struct sessions *all, const struct tenant *t, struct box_spec *b,
			   size_t output_json_max, const struct reply *r)
{
	struct work *w = work_add(all, t, b->session_id, WORK_EXEC, r);

	w->spec = *b;
	*b = (struct box_spec){ 0 };
	w->output_json_max = output_json_max;
	return w;
}

struct work *sessions_start_process(struct sessions *all, const struct tenant *t, const char *id,
				    struct process_spec *p, const struct reply *r)
{
	struct work *w = work_add(all, t, id, WORK_START, r);

	w->process = *p;
	*p = (struct process_spec){ 0 };
	return w;
}

struct work *sessions_stop_process(struct sessions *all, const struct tenant *t, const char *id,
				   const char *process_id, const struct reply *r)
{
	struct work *w = work_add(all, t, id, WORK_STOP, r);

	w->process.process_id = xstrdup(process_id);
	return w;
}

/* Called because the slot's session will be deleted. Makes all commands fail that are queued behind
 * the first work, because they wait for this session. If there is no session, or if it is closing
 * already, these commands get a new session, so they do not fail. */
static void fail_waiting_execs(struct slot *s)
{
	if (!s->session || s->session->closing)
		return;
	for (struct work *w = s->queue ? s->queue->next : NULL; w; w = w->next)
		if (w->kind == WORK_EXEC)
			fault_set(&w->fault, FAULT_SESSION_NOT_FOUND, "session %s is being deleted",
				  s->id);
}

/* Returns true if a deletion is queued before W, and no work between them makes a new session. */
static bool follows_deletion(const struct work *w)
{
	bool follows = false;

	for (const struct work *o = w->slot->queue; o != w; o = o->next)
		follows = o->kind == WORK_DELETE ||
			  (follows && o->kind != WORK_CREATE && o->kind != WORK_EXEC);
	return follows;
}

/* A second deletion waits for the first deletion and gets the same answer. */
struct work *sessions_delete(struct sessions *all, const struct tenant *t, const char *id,
			     struct str shown, const struct reply *r)
{
	struct work *w = work_add(all, t, id, WORK_DELETE, r);

	buf_add(&w->shown, shown.p, shown.n);
	w->joins = follows_deletion(w);
	fail_waiting_execs(w->slot);
	return w;
}

void sessions_expire(struct slot *s)
{
	work_add(s->all, &s->tenant, s->id, WORK_EXPIRE, NULL);
}
