#include "service/local.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

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
#include "client/tap.h"
#include "service/blueprint.h"
#include "service/capture.h"
#include "service/result.h"
#include "service/script.h"
#include "service/tenant.h"
#include "spec/grammar.h"

#define NAME_PREFIX "box-"
#define LABEL_SPEC "cordon.box.spec"
#define LABEL_BACKEND "cordon.box.backend"
#define FIRST_BACKEND "nsjail" /* the backend of sandboxes that have no label with a backend */
#define SPEC_TEXT_MAX_BYTES (1u << 20)
#define WAIT_STEP_MS 20
#define WAIT_SEC 60  /* how long to wait for a sandbox that is starting or ending */
#define BUSY_SEC 300 /* how long to wait for the commands of other calls */

/* A session that a call uses. */
struct use {
	const struct local_rules *rules;
	const struct box_spec *spec;
	struct home home;
	char *name;  /* the sandbox's name */
	bool logged; /* what commands print goes to the sandbox's log */
	int lock;    /* the locked directory of the record, or -1 */
	int connection;
};

static int backend_error(struct fault *f, const char *backend, const struct err *e)
{
	return fault_set(f, FAULT_BOX, "%s backend error: %s%s%s", backend, e->msg,
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

static const char *backend_of(const struct record *r)
{
	const char *word = find_label(&r->spec, LABEL_BACKEND);

	return word ? word : FIRST_BACKEND;
}

/* Reads the BoxSpec with which the sandbox of the record *R was made, from a label of the
 * sandbox. */
static int read_label(const struct record *r, struct box_spec *ret, struct fault *f)
{
	const char *text = find_label(&r->spec, LABEL_SPEC);
	AUTO_JSON doc = NULL;
	struct err e;

	if (!text || json_parse(text, strlen(text), &doc, &e) < 0)
		return fault_set(f, FAULT_BOX, "sandbox '%s' is no session", r->spec.name);
	return box_spec_decode(json_root(doc), ret, f);
}

/* Compares the session of the record *R with the spec of the call. Fails if they differ in the id,
 * the backend or a field that box_spec_compare() compares. The extra mounts may differ: *RET_SAME
 * is true if they are the same too. */
static int compare(const struct use *u, const struct record *r, bool *ret_same, struct fault *f)
{
	struct box_spec has = { 0 };
	int k = read_label(r, &has, f);

	/* the name is made from a digest of the id: someone may have chosen an id with the same
	 * digest */
	if (k == 0 && strcmp(has.session_id, u->spec->session_id) != 0)
		k = fault_set(f, FAULT_BOX, "sandbox '%s' belongs to another session", u->name);
	if (k == 0 && strcmp(backend_of(r), u->rules->backend) != 0)
		k = box_spec_conflict(str_of(u->spec->session_id), "backend", backend_of(r), f);
	if (k == 0)
		k = box_spec_compare(&has, u->spec, str_of(u->spec->session_id), f);
	*ret_same = k == 0 && box_spec_same_mounts(&has, u->spec);
	box_spec_done(&has);
	return k;
}

/* What the search for the session's sandbox found. */
enum found {
	FOUND_READY,   /* the call is connected and holds the lock */
	FOUND_NONE,    /* there is no sandbox */
	FOUND_UNREADY, /* the session's sandbox is starting or ending */
	FOUND_BUSY,    /* another call holds the lock */
};

/* Locks the directory of the record *R, and moves its descriptor from r->dir to u->lock. Returns
 * FOUND_READY, FOUND_BUSY if another call holds the lock, or FOUND_UNREADY if the name belongs to
 * another sandbox or to none by now. */
static enum found lock(struct use *u, struct record *r)
{
	AUTO_FD now = -1;
	struct stat locked, named;
	struct err e;

	fd_closep(&u->lock);
	if (flock(r->dir, LOCK_EX | LOCK_NB) < 0)
		return FOUND_BUSY;
	if (record_open(&u->home, u->name, &now, &e) < 0 || fstat(r->dir, &locked) < 0 ||
	    fstat(now, &named) < 0 || locked.st_ino != named.st_ino)
		return FOUND_UNREADY;
	u->lock = fd_take(&r->dir);
	return FOUND_READY;
}

/* Connects to the sandbox. The caller has locked its record. */
static int connect_to(struct use *u, enum found *ret, struct fault *f)
{
	struct client c;
	struct err e = { 0 };

	*ret = FOUND_UNREADY;
	if (client_open(&c, &u->home, u->name, &e) < 0)
		return e.code == ERR_NOT_RUNNING ? 0 : backend_error(f, u->rules->backend, &e);
	u->connection = fd_take(&c.fd);
	client_done(&c);
	*ret = FOUND_READY;
	return 0;
}

/* Removes the locked sandbox, so that the caller makes a new one with other mounts. The mounts of
 * an existing sandbox cannot be changed. */
static int replace(struct use *u, enum found *ret, struct fault *f)
{
	struct err e = { 0 };

	*ret = FOUND_NONE;
	if (sandbox_remove_this(&u->home, u->name, u->lock, &e) < 0)
		return backend_error(f, u->rules->backend, &e);
	return 0;
}

static int find(struct use *u, enum found *ret, struct fault *f)
{
	AUTO_RECORD r = RECORD_NONE;
	struct err e = { 0 };
	bool same;

	*ret = FOUND_NONE;
	if (record_load(&u->home, u->name, &r, &e) < 0)
		return e.code == ERR_NOT_FOUND ? 0 : backend_error(f, u->rules->backend, &e);
	*ret = FOUND_UNREADY;
	/* the sandbox does not run; erase what its supervisor left behind */
	if (r.status == STATUS_STOPPED || r.status == STATUS_CRASHED) {
		*ret = leftover_sweep(&u->home, u->name) ? FOUND_NONE : FOUND_UNREADY;
		return 0;
	}
	if (!sandbox_is_up(&r))
		return 0;
	if (compare(u, &r, &same, f) < 0)
		return -1;
	u->logged = !r.spec.log_disabled;
	*ret = lock(u, &r);
	if (*ret != FOUND_READY)
		return 0;
	return same ? connect_to(u, ret, f) : replace(u, ret, f);
}

/* --- making ---------------------------------------------------------------------------------- */

static void add_label(const char *key, const char *value, struct spec *s)
{
	AUTO_FREE char *label = xasprintf("%s=%s", key, value);
	struct err ignored;

	IGNORE(spec_add_label(s, label, &ignored)); /* cannot fail: our own label is valid */
}

static void add_spec_label(const struct box_spec *b, struct spec *s)
{
	AUTO_BUF text = BUF_INIT(SPEC_TEXT_MAX_BYTES);
	struct box_spec lasting = *b; /* the spec without the fields that belong to one command */
	struct json_writer w;

	lasting.cmd = "";
	lasting.env = (struct model_env){ 0 };
	json_writer_init(&w, &text, 0);
	box_spec_encode(&lasting, &w);
	add_label(LABEL_SPEC, buf_str(&text), s);
}

static int blame(const struct use *u, size_t mount, const struct err *e, struct fault *f)
{
	const struct box_spec *b = u->spec;
	bool extra = false;
	const char *path = mount ? blueprint_mount(b, mount, &extra) : NULL;

	if (path && (e->code == ERR_NOT_FOUND || e->code == ERR_DENIED))
		return fault_about(f, FAULT_VALIDATION,
				   extra ? "extra mount host_path " : "host_path ", str_of(path),
				   e->code == ERR_NOT_FOUND ? " does not exist"
							    : " is blocked for security");
	if (e->code == ERR_INVALID || e->code == ERR_DENIED || e->code == ERR_NOT_FOUND)
		return fault_set(f, FAULT_VALIDATION, "%s", e->msg);
	return backend_error(f, u->rules->backend, e);
}

static int launch(struct use *u, const struct spec *s, struct err *e)
{
	AUTO_BUF warnings = BUF_INIT(65536);
	struct launch l = LAUNCH_NONE;
	int r = launch_create(&u->home, s, false, &l, e);

	if (r == 0)
		r = launch_wait(&l, &warnings, e);
	if (r == 0)
		r = launch_settle(&l, s, e);
	if (r == 0)
		launch_release(&l);
	launch_done(&l);
	return r;
}

/* Makes the sandbox. Succeeds also if another process has made it meanwhile. */
static int make(struct use *u, struct fault *f)
{
	/* If roots are configured, system directories are not refused. The user of this machine
	 * chose the roots, and a root may lie in a system directory such as /root. */
	const struct source_rules rules = { .refused = source_rules_system,
					    .n_refused =
						    u->rules->n_roots ? 0 : SOURCE_RULES_SYSTEM,
					    .root = u->rules->root,
					    .n_roots = u->rules->n_roots };
	const struct cordon_config *cordon = u->rules->cordon;
	const struct blueprint plan = { .backend = u->rules->backend,
					.image = cordon->image,
					.engine = cordon->engine,
					.net = &cordon->net,
					.instance = "local",
					.log_output = cordon->log_output };
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
		add_label(LABEL_BACKEND, u->rules->backend, &s);
		s.idle_timeout_s = u->spec->persistent ? 0 : u->rules->idle_sec;
		if (places_follow(&u->home, &e) < 0 || prepare(&u->home, &p, &s, &e) < 0 ||
		    launch(u, &s, &e) < 0)
			r = e.code == ERR_EXISTS ? 0 : blame(u, mount, &e, f);
	}
	spec_done(&s);
	return r;
}

/* Finds the session's sandbox or makes it. Locks it and connects to it. */
static int enter(struct use *u, struct fault *f)
{
	uint64_t began = clock_mono_ns();
	enum found found = FOUND_UNREADY;

	for (;;) {
		if (find(u, &found, f) < 0)
			return -1;
		if (found == FOUND_READY)
			return 0;
		if (found == FOUND_NONE && make(u, f) < 0)
			return -1;
		if (clock_mono_ns() - began >
		    (found == FOUND_BUSY ? BUSY_SEC : WAIT_SEC) * NS_PER_SEC)
			return fault_set(f, FAULT_BOX, "%s backend error: sandbox '%s' %s",
					 u->rules->backend, u->name,
					 found == FOUND_BUSY ? "is busy" : "does not come up");
		if (found != FOUND_NONE)
			/* poll() without descriptors only waits */
			IGNORE(poll(NULL, 0, WAIT_STEP_MS));
	}
}

/* --- running --------------------------------------------------------------------------------- */

struct command {
	struct loop *loop;
	struct line *line;
	struct job *job;
	struct tap tap;
	struct capture out, err;
	struct exit_message end;
	struct err why;
	bool ended, lost, hung;
};

/* The tap (client/tap.h) writes output to the log only after it has learned the number of the
 * command. */
static void learn_number(struct command *c, uint64_t number)
{
	if (!c->tap.numbered && number)
		tap_number(&c->tap, number);
}

static bool on_output(void *arg, enum job_output which, const char *p, size_t n)
{
	struct command *c = arg;

	learn_number(c, job_number(c->job));
	tap_add(&c->tap, which == JOB_STDOUT ? LOG_STDOUT : LOG_STDERR, p, n);
	capture_add(which == JOB_STDOUT ? &c->out : &c->err, p, n);
	return true;
}

static void on_end(void *arg, const struct job_end *end)
{
	struct command *c = arg;

	learn_number(c, end->id);
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
	const struct job_owner o = {
		.output = on_output, .end = on_end, .arg = c, .numbered = u->logged
	};
	struct exec_message m;
	struct script s;
	int r = loop_new(&c->loop);

	if (r < 0)
		return err_sys(e, -r, "make a loop");
	tap_init(&c->tap, &u->home, u->name, u->logged);
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
	tap_done(&c->tap);
	loop_free(c->loop);
	return r;
}

static int report(struct use *u, const struct command *c, struct outcome *ret, struct fault *f)
{
	struct err ignored;

	if (c->lost && !c->hung)
		return backend_error(f, u->rules->backend, &c->why);
	ret->timed_out = c->hung || c->end.timed_out;
	if (!ret->timed_out && c->end.failure)
		return fault_set(f, FAULT_BOX, "%s backend error: %s", u->rules->backend,
				 exec_failure_text(c->end.failure));
	ret->session_id = xstrdup(u->spec->session_id);
	ret->backend = xstrdup(u->rules->backend);
	ret->exit_code = ret->timed_out ? 0 : exec_exit_status(&c->end);
	capture_render(&c->out, 0, &ret->out);
	capture_render(&c->err, 0, &ret->err);
	if (ret->timed_out && ret->err.n == 0)
		buf_addf(&ret->err, "Command timed out after %lld seconds.",
			 (long long)u->spec->timeout_sec);
	if (ret->timed_out) /* when a command timed out, its session ends too */
		IGNORE(sandbox_stop_this(&u->home, u->name, u->lock, 0, &ignored));
	return 0;
}

int local_exec(const struct local_rules *rules, const struct box_spec *b, struct outcome *ret,
	       struct fault *f)
{
	struct ceiling ceiling = { .max = CEILING_DEFAULT_BYTES };
	struct use u = {
		.rules = rules, .spec = b, .home = { .fd = -1 }, .lock = -1, .connection = -1
	};
	struct command c = { 0 };
	struct err e = { 0 };
	uint64_t began;
	int r;

	if (home_open(&u.home, &e) < 0)
		return backend_error(f, rules->backend, &e);
	u.name = sandbox_name(b->session_id);
	capture_init(&c.out, &ceiling, CAPTURE_LIMIT_BYTES);
	capture_init(&c.err, &ceiling, CAPTURE_LIMIT_BYTES);
	r = enter(&u, f);
	began = clock_mono_ns();
	if (r == 0 && run_command(&u, &c, &e) < 0)
		r = backend_error(f, rules->backend, &e);
	ret->duration_ms = (clock_mono_ns() - began) / NS_PER_MS;
	if (r == 0)
		r = report(&u, &c, ret, f);
	capture_done(&c.out);
	capture_done(&c.err);
	fd_closep(&u.connection);
	fd_closep(&u.lock);
	free(u.name);
	home_done(&u.home);
	return r;
}

/* --- all sessions ---------------------------------------------------------------------------- */

static void write_session(const struct record *r, struct json_writer *w)
{
	struct box_spec spec = { 0 };
	struct session_info info = { .backend_name = backend_of(r),
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

static int not_found(const char *session_id, struct fault *f)
{
	return fault_about(f, FAULT_SESSION_NOT_FOUND, "session ", str_of(session_id),
			   " not found");
}

/* Returns true if the sandbox of R is the session SESSION_ID. A sandbox with the same name may be
 * another session, whose id has the same digest, or a sandbox that the user has made. */
static bool is_this_session(const struct record *r, const char *session_id)
{
	struct box_spec spec = { 0 };
	AUTO_FAULT ignored = { 0 };
	bool same = read_label(r, &spec, &ignored) == 0 && strcmp(spec.session_id, session_id) == 0;

	box_spec_done(&spec);
	return same;
}

int local_end(const char *session_id, struct fault *f)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_RECORD r = RECORD_NONE;
	AUTO_FREE char *name = sandbox_name(session_id);
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || record_load(&home, name, &r, &e) < 0)
		return e.code == ERR_NOT_FOUND ? not_found(session_id, f)
					       : backend_error(f, FIRST_BACKEND, &e);
	if (!is_this_session(&r, session_id))
		return not_found(session_id, f);
	if (sandbox_remove_this(&home, name, r.dir, &e) < 0)
		return backend_error(f, FIRST_BACKEND, &e);
	return 0;
}

int local_list(struct json_writer *w, struct fault *f)
{
	AUTO_HOME home = { .fd = -1 };
	AUTO_SANDBOX_LIST all = { 0 };
	struct err e = { 0 };

	if (home_open(&home, &e) < 0 || sandbox_list_load(&home, &all, &e) < 0)
		return backend_error(f, FIRST_BACKEND, &e);
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
		return backend_error(f, FIRST_BACKEND, &e);
	for (size_t i = 0; i < all.n; i++) {
		const char *name = all.item[i].spec.name;
		AUTO_RECORD r = RECORD_NONE;

		/* load the record again: the sandbox may have ended meanwhile, and another sandbox
		 * may have its name */
		if (!is_session(&all.item[i]) || record_load(&home, name, &r, &e) < 0 ||
		    !is_session(&r))
			continue;
		if (sandbox_remove_this(&home, name, r.dir, &e) < 0)
			return backend_error(f, FIRST_BACKEND, &e);
		++*ret_n;
	}
	return 0;
}
