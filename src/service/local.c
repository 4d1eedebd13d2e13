#include "service/local.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/call.h"
#include "client/connection.h"
#include "client/image.h"
#include "client/job.h"
#include "client/launch.h"
#include "client/line.h"
#include "client/prepare.h"
#include "client/removal.h"
#include "client/sandbox.h"
#include "client/source_rules.h"
#include "client/stop.h"
#include "service/blueprint.h"
#include "service/capture.h"
#include "service/result.h"
#include "service/script.h"
#include "service/tenant.h"
#include "spec/grammar.h"

#define NAME_PREFIX "box-"
#define LABEL_SPEC "cordon.box.spec"
#define BACKEND LOCAL_BACKEND
#define SPEC_TEXT_MAX_BYTES (1u << 20)
#define WAIT_STEP_MS 20
#define WAIT_SEC 60 /* how long to wait for a sandbox that another process makes */

/* A session that a call uses. */
struct use {
	const struct local_rules *rules;
	const struct box_spec *spec;
	struct home home;
	char *name; /* the sandbox's name */
	int connection;
};

static int backend_error(struct fault *f, const struct err *e)
{
	return fault_set(f, FAULT_BOX, BACKEND " backend error: %s%s%s", e->msg,
			 e->hint ? ": " : "", e->hint ? e->hint : "");
}

static char *sandbox_name(const char *session_id)
{
	char digest[TENANT_DIGEST_BYTES];
	struct tenant t;

	tenant_init_legacy(&t);
	tenant_session_digest(&t, str_of(session_id), digest);
	return xasprintf(NAME_PREFIX "%s", digest);
}

/* --- finding --------------------------------------------------------------------------------- */

static const char *find_label(const struct spec *s, const char *key)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (strcmp(s->label[i].key, key) == 0)
			return s->label[i].value;
	return NULL;
}

/* Reads the spec that made the sandbox of R. */
static int read_label(const struct record *r, struct box_spec *ret, struct fault *f)
{
	const char *text = find_label(&r->spec, LABEL_SPEC);
	AUTO_JSON doc = NULL;
	struct err e;

	if (!text || json_parse(text, strlen(text), &doc, &e) < 0)
		return fault_set(f, FAULT_BOX, "sandbox '%s' is no session", r->spec.name);
	return box_spec_decode(json_root(doc), ret, f);
}

static int compare(const struct use *u, const struct record *r, struct fault *f)
{
	struct box_spec has = { 0 };
	int k = read_label(r, &has, f);

	if (k == 0)
		k = box_spec_compare(&has, u->spec, str_of(u->spec->session_id), f);
	box_spec_done(&has);
	return k;
}

/* Connects to the session's sandbox. Returns 1 on success, 0 if there is no sandbox, 2 if it is not ready, or -1. */
static int find(struct use *u, struct fault *f)
{
	AUTO_RECORD r = RECORD_NONE;
	struct client c;
	struct err e = { 0 };

	if (record_load(&u->home, u->name, &r, &e) < 0)
		return e.code == ERR_NOT_FOUND ? 0 : backend_error(f, &e);
	if (compare(u, &r, f) < 0)
		return -1;
	/* erase what a killed supervisor left behind */
	if (r.status == STATUS_STOPPED || r.status == STATUS_CRASHED)
		return leftover_sweep(&u->home, u->name) ? 0 : 2;
	if (!sandbox_is_up(&r))
		return 2;
	if (client_open(&c, &u->home, u->name, &e) < 0)
		return e.code == ERR_NOT_RUNNING ? 2 : backend_error(f, &e);
	u->connection = fd_take(&c.fd);
	client_done(&c);
	return 1;
}

/* --- making ---------------------------------------------------------------------------------- */

static void add_spec_label(const struct box_spec *b, struct spec *s)
{
	AUTO_BUF text = BUF_INIT(SPEC_TEXT_MAX_BYTES);
	struct box_spec lasting = *b; /* the spec without the fields that belong to one command */
	struct json_writer w;
	struct err ignored;

	lasting.cmd = "";
	lasting.env = (struct model_env){ 0 };
	json_writer_init(&w, &text, 0);
	box_spec_encode(&lasting, &w);
	{
		AUTO_FREE char *label = xasprintf(LABEL_SPEC "=%s", buf_str(&text));

		IGNORE(spec_add_label(s, label, &ignored)); /* our own label is valid */
	}
}

static int blame(const struct box_spec *b, size_t mount, const struct err *e, struct fault *f)
{
	bool extra = false;
	const char *path = mount ? blueprint_mount(b, mount, &extra) : NULL;

	if (path && (e->code == ERR_NOT_FOUND || e->code == ERR_DENIED))
		return fault_about(f, FAULT_VALIDATION,
				   extra ? "extra mount host_path " : "host_path ", str_of(path),
				   e->code == ERR_NOT_FOUND ? " does not exist"
							    : " is blocked for security");
	if (e->code == ERR_INVALID || e->code == ERR_DENIED || e->code == ERR_NOT_FOUND)
		return fault_set(f, FAULT_VALIDATION, "%s", e->msg);
	return backend_error(f, e);
}

static int launch(struct use *u, const struct spec *s, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct launch l = LAUNCH_NONE;
	struct client c;
	int r = launch_create(&u->home, s, false, &l, e);

	if (r == 0)
		r = launch_wait(&l, &warnings, e);
	if (r == 0)
		r = launch_settle(&l, s, e);
	if (r == 0)
		r = client_open(&c, &u->home, u->name, e);
	if (r == 0) {
		u->connection = fd_take(&c.fd);
		client_done(&c);
		launch_release(&l);
	}
	launch_done(&l);
	return r;
}

/* Makes the sandbox. Returns 0 on success, 1 if another process has made the sandbox meanwhile, or -1. */
static int make(struct use *u, struct fault *f)
{
	/* the user of this machine chose the roots, so a root may lie in /root */
	const struct source_rules rules = { .refused = source_rules_system,
					    .n_refused =
						    u->rules->n_roots ? 0 : SOURCE_RULES_SYSTEM,
					    .root = u->rules->root,
					    .n_roots = u->rules->n_roots };
	const struct model_texts no_net = { 0 };
	const struct blueprint plan = {
		.backend = BACKEND, .image = "host", .net = &no_net, .instance = "local"
	};
	char hint[IMAGER_HINT_BYTES];
	size_t mount = 0;
	const struct preparation p = { .rules = &rules,
				       .ret_mount = &mount,
				       .fetch = { .quiet = true, .hint = hint } };
	struct err e = { 0 };
	struct spec s;
	int r;

	r = blueprint_draw(&plan, u->spec, u->name, u->spec->session_id, &s, f);
	if (r == 0) {
		add_spec_label(u->spec, &s);
		s.idle_timeout_s = LOCAL_IDLE_SEC;
		if (places_follow(&u->home, &e) < 0 || prepare(&u->home, &p, &s, &e) < 0 ||
		    launch(u, &s, &e) < 0)
			r = e.code == ERR_EXISTS ? 1 : blame(u->spec, mount, &e, f);
	}
	spec_done(&s);
	return r;
}

/* Finds the session's sandbox or makes it, and connects to it. */
static int enter(struct use *u, struct fault *f)
{
	uint64_t until = clock_mono_ns() + WAIT_SEC * NS_PER_SEC;

	while (clock_mono_ns() < until) {
		int r = find(u, f);

		if (r == 0)
			r = make(u, f) == 0 ? 1 : f->text ? -1 : 2;
		if (r != 2)
			return r < 0 ? -1 : 0;
		IGNORE(poll(NULL, 0, WAIT_STEP_MS)); /* only waits */
	}
	return fault_set(f, FAULT_BOX, BACKEND " backend error: sandbox '%s' does not come up",
			 u->name);
}

/* --- running --------------------------------------------------------------------------------- */

struct command {
	struct loop *loop;
	struct line *line;
	struct job *job;
	struct capture out, err;
	struct exit_message end;
	struct err why;
	bool ended, lost, hung;
};

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct command *c = arg;

	capture_add(which == JOB_STDOUT ? &c->out : &c->err, p, n);
	return true;
}

static void on_end(void *arg, const struct job_end *end)
{
	struct command *c = arg;

	c->ended = true;
	c->hung = end->hung;
	c->lost = end->err;
	if (end->err)
		c->why = *end->err;
	else
		c->end = end->end;
	loop_stop(c->loop);
}

static void on_gone(void *arg, const struct err *why)
{
}

static int run_command(struct use *u, struct command *c, struct err *e)
{
	const struct job_owner o = { .output = on_output, .end = on_end, .arg = c };
	struct exec_message m;
	struct script s;
	int r = loop_new(&c->loop);

	if (r < 0)
		return err_sys(e, -r, "make a loop");
	r = line_new(c->loop, u->name, fd_take(&u->connection), on_gone, c, &c->line, e);
	if (r == 0) {
		script_for_command(&s, u->spec, &m);
		r = job_start(c->line, &m, false, &o, &c->job, e);
		script_done(&s);
	}
	if (r == 0)
		r = loop_run(c->loop) < 0 ? err_set(e, ERR_SYSTEM, "the loop failed") : 0;
	if (c->job)
		job_free(c->job);
	if (c->line)
		line_free(c->line);
	loop_free(c->loop);
	return r;
}

static int report(struct use *u, const struct command *c, struct outcome *ret, struct fault *f)
{
	struct err ignored;

	if (c->lost && !c->hung)
		return backend_error(f, &c->why);
	ret->timed_out = c->hung || c->end.timed_out;
	if (!ret->timed_out && c->end.failure)
		return fault_set(f, FAULT_BOX, BACKEND " backend error: %s",
				 exec_failure_text(c->end.failure));
	ret->session_id = xstrdup(u->spec->session_id);
	ret->backend = xstrdup(BACKEND);
	ret->exit_code = ret->timed_out ? 0 : exec_exit_status(&c->end);
	capture_render(&c->out, 0, &ret->out);
	capture_render(&c->err, 0, &ret->err);
	if (ret->timed_out && ret->err.n == 0)
		buf_addf(&ret->err, "Command timed out after %lld seconds.",
			 (long long)u->spec->timeout_sec);
	if (ret->timed_out) /* the session ends with a command that timed out */
		IGNORE(sandbox_stop(&u->home, u->name, 0, &ignored));
	return 0;
}

int local_exec(const struct local_rules *rules, const struct box_spec *b, struct outcome *ret,
	       struct fault *f)
{
	struct ceiling ceiling = { .max = CEILING_DEFAULT_BYTES };
	struct use u = { .rules = rules, .spec = b, .home = { .fd = -1 }, .connection = -1 };
	struct command c = { 0 };
	struct err e = { 0 };
	uint64_t began;
	int r;

	if (home_open(&u.home, &e) < 0)
		return backend_error(f, &e);
	u.name = sandbox_name(b->session_id);
	capture_init(&c.out, &ceiling, CAPTURE_LIMIT_BYTES);
	capture_init(&c.err, &ceiling, CAPTURE_LIMIT_BYTES);
	r = enter(&u, f);
	began = clock_mono_ns();
	if (r == 0 && run_command(&u, &c, &e) < 0)
		r = backend_error(f, &e);
	ret->duration_ms = (clock_mono_ns() - began) / NS_PER_MS;
	if (r == 0)
		r = report(&u, &c, ret, f);
	capture_done(&c.out);
	capture_done(&c.err);
	fd_closep(&u.connection);
	free(u.name);
	home_done(&u.home);
	return r;
}

/* --- all sessions ---------------------------------------------------------------------------- */

static void write_session(const struct record *r, struct json_writer *w)
{
	struct box_spec spec = { 0 };
	struct session_info info = { .backend_name = BACKEND,
				     .backend_session_id = r->spec.name,
				     .spec = &spec,
				     .created_ns = r->created_ns,
				     .last_used_ns = r->updated_ns };
	AUTO_FAULT ignored = { 0 };

	if (read_label(r, &spec, &ignored) < 0)
		return;
	info.session_id = str_of(spec.session_id);
	json_begin_object(w);
	session_info_members(&info, w);
	json_end_object(w);
	box_spec_done(&spec);
}

static bool is_session(const struct record *r)
{
	return strncmp(r->spec.name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 &&
	       find_label(&r->spec, LABEL_SPEC);
}

int local_end(const char *session_id, struct fault *f)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_FREE char *name = sandbox_name(session_id);
	struct err e = { 0 };

	if (home_open(&home, &e) == 0 && sandbox_remove(&home, name, true, &e) == 0)
		return 0;
	if (e.code == ERR_NOT_FOUND)
		return fault_about(f, FAULT_SESSION_NOT_FOUND, "session ", str_of(session_id),
				   " not found");
	return backend_error(f, &e);
}

int local_list(struct json_writer *w, struct fault *f)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_SANDBOX_LIST all = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || sandbox_list_load(&home, &all, &e) < 0)
		return backend_error(f, &e);
	for (size_t i = all.n; i-- > 0;)
		if (is_session(&all.item[i]) && sandbox_is_up(&all.item[i]))
			write_session(&all.item[i], w);
	return 0;
}

int local_end_all(size_t *ret_n, struct fault *f)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_SANDBOX_LIST all = { 0 };
	struct err e = { 0 };

	*ret_n = 0;
	if (home_open(&home, &e) < 0 || sandbox_list_load(&home, &all, &e) < 0)
		return backend_error(f, &e);
	for (size_t i = 0; i < all.n; i++) {
		if (!is_session(&all.item[i]))
			continue;
		if (sandbox_remove(&home, all.item[i].spec.name, true, &e) < 0 &&
		    e.code != ERR_NOT_FOUND)
			return backend_error(f, &e);
		++*ret_n;
	}
	return 0;
}
