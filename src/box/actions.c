#include "box/actions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "service/runtime.h"

enum reach {
	REACH_HOST,    /* the action is about the whole server and needs no context */
	REACH_TENANT,  /* the action is for one Workspace */
	REACH_SANDBOX, /* the action uses a sandbox of one Workspace and may need a grant */
};

struct action_row {
	const char *name;
	enum reach reach;
	void (*run)(struct action *a);
	const char *skill_op; /* for act_skill(): the operation's name in wire/skills.h */
};

/* --- answers --------------------------------------------------------------------------------- */

/* Called when the work that the action asked for is done. */
static void on_done(void *arg, const struct fault *fault, struct buf *data)
{
	struct action *a = arg;

	a->work = NULL;
	if (fault)
		action_fail(a, fault);
	else
		action_succeed(a, (struct str){ buf_str(data), data->n });
}

static struct reply reply_to(struct action *a)
{
	return (struct reply){ on_done, a };
}

static void fail(struct action *a, struct fault *f)
{
	action_fail(a, f);
	fault_done(f);
}

/* Gets the text of the member KEY. If the member is missing or is no string, fails the action and
 * returns false. For a missing member the message is like "KeyError: 'session_id'", as from
 * LangBot's own server. */
static bool get_text(struct action *a, const char *key, struct str *ret)
{
	const struct json_value *v = json_get(a->request.data, key);
	struct fault f = { 0 };

	if (v && v->type == JSON_STRING) {
		*ret = v->string;
		return true;
	}
	if (!v)
		fault_set(&f, FAULT_KEY, "'%s'", key);
	else
		fault_set(&f, FAULT_VALUE, "%s must be a string", key);
	fail(a, &f);
	return false;
}

/* Gets an id. Refuses an id with a NUL: ids are kept as C strings, so the id would be cut and could
 * then name another object. */
static bool get_id(struct action *a, const char *key, struct str *ret)
{
	struct fault f = { 0 };

	if (!get_text(a, key, ret))
		return false;
	if (!memchr(ret->p, '\0', ret->n))
		return true;
	fault_set(&f, FAULT_VALUE, "%s must not contain NUL", key);
	fail(a, &f);
	return false;
}

/* Returns true if grants are enforced and the action uses a sandbox. */
static bool is_gated(const struct action *a)
{
	return a->row->reach == REACH_SANDBOX && grant_gate_is_on(runtime_gate(a->server->runtime));
}

/* Gets the session id in its cleaned form, under which the tenant's session is stored. */
static bool get_session(struct action *a, char **ret)
{
	AUTO_BUF clean = BUF_INIT(WEBSOCKET_MESSAGE_MAX_BYTES);
	struct fault f = { 0 };
	struct str id;

	if (!get_id(a, "session_id", &id))
		return false;
	if (tenant_clean_id(&a->tenant, id, &clean, &f) < 0) {
		fail(a, &f);
		return false;
	}
	if (is_gated(a) &&
	    admission_check_session_id((struct str){ buf_str(&clean), clean.n }, &f) < 0) {
		fail(a, &f);
		return false;
	}
	*ret = buf_take(&clean);
	return true;
}

/* --- actions --------------------------------------------------------------------------------- */

static void act_ping(struct action *a)
{
	action_succeed(a, STR("{}"));
}

static void act_file_chunk(struct action *a)
{
	struct fault f = { 0 };

	if (uploads_add(rpc_uploads(a->rpc), a->request.data, &f) < 0)
		fail(a, &f);
	else
		action_succeed(a, STR("{}"));
}

static void act_init(struct action *a)
{
	struct reply r = reply_to(a);

	runtime_configure(a->server->runtime, a->request.data, &r);
}

static void act_backend_info(struct action *a)
{
	struct reply r = reply_to(a);

	runtime_backend_info(a->server->runtime, &r);
}

static void act_health(struct action *a)
{
	struct reply r = reply_to(a);

	runtime_health(a->server->runtime, &r);
}

static void act_status(struct action *a)
{
	struct reply r = reply_to(a);

	runtime_status(a->server->runtime, &a->tenant, &r);
}

static bool every_tenant(void *arg, const struct tenant *t, const char *id)
{
	return true;
}

static void on_shut_down(void *arg, const struct fault *fault, struct buf *data)
{
	struct action *a = arg;

	sessions_refuse(runtime_sessions(a->server->runtime), false);
	action_succeed(a, STR("{}"));
}

static void act_shutdown(struct action *a)
{
	struct sessions *all = runtime_sessions(a->server->runtime);
	const struct reply r = { on_shut_down, a };

	sessions_refuse(all, true);
	sessions_drop(all, every_tenant, NULL, &r);
}

/* Decodes and checks the BoxSpec of an action, and replaces its session id by the cleaned form. */
static bool get_spec(struct action *a, struct box_spec *b)
{
	AUTO_BUF clean = BUF_INIT(WEBSOCKET_MESSAGE_MAX_BYTES);
	struct fault f = { 0 };

	if (box_spec_decode(a->request.data, b, &f) < 0) {
		fail(a, &f);
		return false;
	}
	if (tenant_clean_id(&a->tenant, str_of(b->session_id), &clean, &f) < 0) {
		box_spec_done(b);
		fail(a, &f);
		return false;
	}
	free(b->session_id);
	b->session_id = buf_take(&clean);
	return true;
}

/* A request to change SPEC to what the Workspace's grant allows. When this is done, on_fitted()
 * passes the spec to USE. */
struct fitting {
	struct action *action;
	struct box_spec spec;
	void (*use)(struct action *a, struct box_spec *b);
};

static void on_fitted(void *arg, const struct fault *fault)
{
	struct fitting *n = arg;
	struct action *a = n->action;

	if (!a->rpc)
		action_free(a); /* the peer has left meanwhile */
	else if (fault)
		action_fail(a, fault);
	else
		n->use(a, &n->spec);
	box_spec_done(&n->spec);
	free(n);
}

/* Passes the spec of the action to USE. If grants are enforced, first changes the spec to what the
 * grant allows. USE may take over the contents of the spec. */
static void with_spec(struct action *a, void (*use)(struct action *a, struct box_spec *b))
{
	struct fitting *n;
	struct box_spec b;

	if (!get_spec(a, &b))
		return;
	if (!is_gated(a)) {
		use(a, &b);
		box_spec_done(&b);
		return;
	}
	n = xcalloc(1, sizeof(*n));
	*n = (struct fitting){ a, b, use };
	grant_gate_fit(runtime_gate(a->server->runtime), &a->tenant, &n->spec, on_fitted, n);
}

static void create(struct action *a, struct box_spec *b)
{
	struct reply r = reply_to(a);

	a->work = sessions_create(runtime_sessions(a->server->runtime), &a->tenant, b, &r);
}

static void act_create(struct action *a)
{
	with_spec(a, create);
}

static void execute(struct action *a, struct box_spec *b)
{
	struct reply r = reply_to(a);
	struct fault f = { 0 };

	if (box_spec_check_command(b, &f) < 0)
		fail(a, &f);
	else
		a->work = sessions_exec(runtime_sessions(a->server->runtime), &a->tenant, b,
					rpc_output_max(a->rpc), &r);
}

static void act_exec(struct action *a)
{
	with_spec(a, execute);
}

static void act_get_session(struct action *a)
{
	AUTO_BUF data = BUF_INIT(32u << 20);
	AUTO_FREE char *id = NULL;
	struct fault f = { 0 };
	struct json_writer w;

	if (!get_session(a, &id))
		return;
	json_writer_init(&w, &data, 0);
	if (sessions_write(runtime_sessions(a->server->runtime), &a->tenant, id, &w, &f) < 0)
		fail(a, &f);
	else
		action_succeed(a, (struct str){ data.p, data.n });
}

static void act_get_sessions(struct action *a)
{
	AUTO_BUF data = BUF_INIT(64u << 20);
	struct json_writer w;

	json_writer_init(&w, &data, 0);
	json_begin_object(&w);
	json_key(&w, "sessions");
	json_begin_array(&w);
	sessions_write_all(runtime_sessions(a->server->runtime), &a->tenant, &w);
	json_end_array(&w);
	json_end_object(&w);
	action_succeed(a, (struct str){ data.p, data.n });
}

static void act_delete_session(struct action *a)
{
	struct reply r = reply_to(a);
	AUTO_FREE char *id = NULL;

	if (!get_session(a, &id))
		return;
	a->work = sessions_delete(runtime_sessions(a->server->runtime), &a->tenant, id,
				  json_get(a->request.data, "session_id")->string, &r);
}

static void act_start_process(struct action *a)
{
	const struct json_value *spec = json_get(a->request.data, "spec");
	struct reply r = reply_to(a);
	AUTO_FREE char *id = NULL;
	struct fault f = { 0 };
	struct process_spec p;

	if (!get_session(a, &id))
		return;
	if (!spec) {
		fault_set(&f, FAULT_KEY, "'spec'");
		fail(a, &f);
		return;
	}
	if (process_spec_decode(spec, &p, &f) < 0) {
		fail(a, &f);
		return;
	}
	a->work = sessions_start_process(runtime_sessions(a->server->runtime), &a->tenant, id, &p,
					 &r);
	process_spec_done(&p);
}

/* Gets the process id, or "default" if the action names no process. */
static bool get_process(struct action *a, struct str *ret)
{
	*ret = STR("default");
	return !json_get(a->request.data, "process_id") || get_id(a, "process_id", ret);
}

static void act_get_process(struct action *a)
{
	AUTO_BUF data = BUF_INIT(1u << 20);
	AUTO_FREE char *id = NULL;
	struct fault f = { 0 };
	struct json_writer w;
	struct str process;

	if (!get_session(a, &id) || !get_process(a, &process))
		return;
	json_writer_init(&w, &data, 0);
	if (sessions_write_process(runtime_sessions(a->server->runtime), &a->tenant, id, process.p,
				   &w, &f) < 0)
		fail(a, &f);
	else
		action_succeed(a, (struct str){ data.p, data.n });
}

static void act_stop_process(struct action *a)
{
	struct reply r = reply_to(a);
	AUTO_FREE char *id = NULL;
	struct str process;

	if (!get_session(a, &id) || !get_process(a, &process))
		return;
	a->work = sessions_stop_process(runtime_sessions(a->server->runtime), &a->tenant, id,
					process.p, &r);
}

static void act_skill(struct action *a)
{
	struct skills_file file = { .fd = -1 };
	struct reply r = reply_to(a);
	struct fault f = { 0 };

	if (strstr(a->row->skill_op, "_zip") &&
	    uploads_take(rpc_uploads(a->rpc), a->request.data, &file, &f) < 0) {
		fail(a, &f);
		return;
	}
	skills_ask(runtime_skills(a->server->runtime), a->row->skill_op, &a->tenant,
		   a->request.data, file, &r);
}

static struct str trusted(const struct action *a)
{
	return str_of(a->server->trust.instance ? a->server->trust.instance : "");
}

static void act_grant(struct action *a)
{
	struct reply r = reply_to(a);

	grant_gate_install(runtime_gate(a->server->runtime), a->request.data, trusted(a), &r);
}

static void act_revoke(struct action *a)
{
	struct reply r = reply_to(a);

	grant_gate_revoke(runtime_gate(a->server->runtime), a->request.data, trusted(a), &r);
}

static void act_verify_volume(struct action *a)
{
	struct reply r = reply_to(a);

	runtime_verify_volume(a->server->runtime, a->request.data, &r);
}

// clang-format off
static const struct action_row rows[] = {
	{ "__ping",                    REACH_HOST,    act_ping, NULL },
	{ "__file_chunk",              REACH_HOST,    act_file_chunk, NULL },
	{ "box_init",                  REACH_HOST,    act_init, NULL },
	{ "box_health",                REACH_HOST,    act_health, NULL },
	{ "box_get_backend_info",      REACH_HOST,    act_backend_info, NULL },
	{ "box_shutdown",              REACH_HOST,    act_shutdown, NULL },
	{ "box_upsert_sandbox_admission_grant", REACH_HOST, act_grant, NULL },
	{ "box_revoke_sandbox_admission_grant", REACH_HOST, act_revoke, NULL },
	{ "box_verify_shared_workspace", REACH_HOST,  act_verify_volume, NULL },
	{ "box_status",                REACH_TENANT,  act_status, NULL },
	{ "box_create_session",        REACH_SANDBOX, act_create, NULL },
	{ "box_exec",                  REACH_SANDBOX, act_exec, NULL },
	{ "box_get_session",           REACH_SANDBOX, act_get_session, NULL },
	{ "box_get_sessions",          REACH_SANDBOX, act_get_sessions, NULL },
	{ "box_delete_session",        REACH_SANDBOX, act_delete_session, NULL },
	{ "box_start_managed_process", REACH_SANDBOX, act_start_process, NULL },
	{ "box_get_managed_process",   REACH_SANDBOX, act_get_process, NULL },
	{ "box_stop_managed_process",  REACH_SANDBOX, act_stop_process, NULL },
	{ "box_list_skills",           REACH_TENANT,  act_skill, "list" },
	{ "box_get_skill",             REACH_TENANT,  act_skill, "get" },
	{ "box_create_skill",          REACH_TENANT,  act_skill, "create" },
	{ "box_update_skill",          REACH_TENANT,  act_skill, "update" },
	{ "box_delete_skill",          REACH_TENANT,  act_skill, "delete" },
	{ "box_scan_skill_directory",  REACH_TENANT,  act_skill, "scan" },
	{ "box_list_skill_files",      REACH_TENANT,  act_skill, "list_files" },
	{ "box_read_skill_file",       REACH_TENANT,  act_skill, "read" },
	{ "box_write_skill_file",      REACH_TENANT,  act_skill, "write" },
	{ "box_preview_skill_zip",     REACH_TENANT,  act_skill, "preview_zip" },
	{ "box_install_skill_zip",     REACH_TENANT,  act_skill, "install_zip" },
};
// clang-format on

/* --- before an action runs ------------------------------------------------------------------- */

static const struct action_row *find_row(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eq(name, rows[i].name))
			return &rows[i];
	return NULL;
}

static bool is_older(void *arg, const struct tenant *t, const char *id)
{
	const struct tenant *newer = arg;

	return !t->legacy && t->generation < newer->generation &&
	       memcmp(t->key, newer->key, sizeof(t->key)) == 0;
}

static void on_older_gone(void *arg, const struct fault *fault, struct buf *data)
{
	struct action *a = arg;

	if (a->rpc)
		a->row->run(a);
	else
		action_free(a);
}

/* Ends the actions and sessions of lower generations before the action of a higher generation
 * runs. */
static void take_over(struct action *a)
{
	const struct reply r = { on_older_gone, a };

	rpc_end_stale(a->server, &a->tenant);
	sessions_drop(runtime_sessions(a->server->runtime), is_older, &a->tenant, &r);
}

/* Runs the action if its generation of the Workspace is not stale (service/fence.h). */
static void pass_fence(struct action *a)
{
	enum fence_verdict v = fence_observe(runtime_fence(a->server->runtime), &a->tenant);
	struct fault f = { 0 };

	if (v == FENCE_ADVANCED) {
		take_over(a);
	} else if (v == FENCE_CURRENT) {
		a->row->run(a);
	} else {
		fence_fault(v, &f);
		fail(a, &f);
	}
}

static void on_admitted(void *arg, const struct fault *fault)
{
	struct action *a = arg;

	if (!a->rpc)
		action_free(a); /* the peer has left meanwhile */
	else if (fault)
		action_fail(a, fault);
	else
		pass_fence(a);
}

static enum admission_use use_of(const struct action *a)
{
	return a->row->run == act_start_process || a->row->run == act_get_process ||
			       a->row->run == act_stop_process
		       ? ADMISSION_PROCESSES
		       : ADMISSION_SESSIONS;
}

static int find_tenant(struct action *a, struct fault *f)
{
	struct context c;
	int r;

	a->of_tenant = a->row->reach != REACH_HOST;
	a->of_sandbox = a->row->reach == REACH_SANDBOX;
	if (a->legacy) {
		tenant_init_legacy(&a->tenant);
		/* the peer may have connected before grants were enforced; a legacy peer has no
		 * Workspace, so it cannot have a grant */
		return a->of_tenant && grant_gate_is_on(runtime_gate(a->server->runtime))
			       ? context_missing(f)
			       : 0;
	}
	if (context_decode(a->request.context, &c, f) < 0)
		return -1;
	r = context_check(&c, a->of_tenant, str_of(a->server->trust.instance), &a->tenant, f);
	context_done(&c);
	return r;
}

void actions_run(struct action *a)
{
	struct fault f = { 0 };

	a->row = find_row(a->request.action);
	if (!a->row)
		envelope_unknown_action(a->request.action, &f);
	if (!a->row || find_tenant(a, &f) < 0)
		fail(a, &f);
	else if (!a->of_tenant || a->tenant.legacy)
		a->row->run(a);
	else if (is_gated(a))
		grant_gate_admit(runtime_gate(a->server->runtime), &a->tenant, use_of(a),
				 on_admitted, a);
	else
		pass_fence(a);
}

bool actions_may_answer(struct action *a, struct fault *f)
{
	if (!a->of_tenant || a->tenant.legacy ||
	    fence_is_current(runtime_fence(a->server->runtime), &a->tenant))
		return true;
	fence_fault(FENCE_STALE, f);
	return false;
}

void actions_cancel(struct action *a)
{
	if (!a->work)
		/* Without work, nothing can be cancelled. When the action ends, action_succeed() or
		 * action_fail() finds no connection, sends nothing and frees the action. */
		return;
	work_cancel(a->work);
	action_free(a);
}
