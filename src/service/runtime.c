#include "service/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "service/backend.h"
#include "service/blueprint.h"
#include "service/boxconfig.h"
#include "service/cordon_config.h"

#define ANSWER_MAX_BYTES (1u << 20)
#define ROOTS_MAX (HAND_PATHS_MAX - 1) /* one path is for the skills root */
/* How long a hand may sweep. This is long, because a layer to be erased may have a million
 * files. */
#define SWEEP_DEADLINE_NS (600 * NS_PER_SEC)

struct runtime {
	struct loop *loop;
	struct hands *hands;
	struct skills *skills;
	struct ceiling *ceiling;
	struct box_config config;
	struct sessions *sessions;
	struct backend *backend;
	struct fence fence;
	const char *directory, *home;
	/* the host path of each mount must be in one of these directories; an empty list allows all
	 * paths */
	struct model_texts roots;
	struct cordon_config cordon;
	char *skills_root;
	struct workplace workplace;
	char *workspace_error; /* what is wrong with the default workspace, or NULL */
	struct enforcement_words enforced;
	struct admission admission;
	struct examiner *examiner;
	struct grant_gate *gate;
	uint64_t descriptors;  /* how many descriptors this process may have open */
	int64_t said_sessions; /* the max_sessions that fit_limits() logged last, or 0 */
	char instance[RUNTIME_INSTANCE_BYTES]; /* a random id of this process */
};

/* --- sandboxes ------------------------------------------------------------------------------- */

static int plan(void *arg, const struct box_spec *b, const char *sandbox, const char *shown,
		struct spec *s, struct fault *f)
{
	struct runtime *r = arg;
	const struct blueprint p = {
		.backend = backend_public_name(r->backend),
		.image = r->cordon.image,
		.engine = r->cordon.engine,
		.net = &r->cordon.net,
		.instance = r->instance,
		.log_output = r->cordon.log_output,
	};

	return blueprint_draw(&p, b, sandbox, shown, s, f);
}

static const char *backend_name(void *arg)
{
	struct runtime *r = arg;

	return backend_public_name(r->backend);
}

static void on_made(void *arg, const char *held)
{
	struct runtime *r = arg;

	enforcement_take(&r->enforced, held);
}

static void on_create_failed(void *arg)
{
	struct runtime *r = arg;

	backend_failed(r->backend);
}

static void list_roots(void *arg, struct hand_request *q)
{
	struct runtime *r = arg;

	for (size_t i = 0; i < r->roots.n; i++)
		q->root[q->n_roots++] = r->roots.item[i];
	if (r->roots.n > 0) /* an empty list allows every directory, so we add nothing to it */
		q->root[q->n_roots++] = r->skills_root;
	q->literal = r->admission.active;
}

/* --- configuration --------------------------------------------------------------------------- */

static char *absolute(const struct runtime *r, const char *path)
{
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0'))
		return xasprintf("%s%s", r->home, path + 1);
	return path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", r->directory, path);
}

/* Returns a path of the section `local`. A relative path begins at ABOVE, or at r->directory
 * if ABOVE is NULL. FALLBACK replaces a missing path. */
static char *local_path(const struct runtime *r, const struct box_config *c, const char *key,
			const char *fallback, const char *above)
{
	struct str own = box_config_text(c, "local", key);
	AUTO_FREE char *named =
		xstrndup(own.n ? own.p : fallback, own.n ? own.n : strlen(fallback));

	return named[0] == '/' || named[0] == '~' || !above ? absolute(r, named)
							    : xasprintf("%s/%s", above, named);
}

/* Reads the directories in which the host paths of mounts must be, from `allowed_mount_roots`. If
 * this list is not configured, the directory `host_root` is the only root. If neither is
 * configured, the list is empty. */
static int read_roots(const struct runtime *r, const struct box_config *c, struct model_texts *ret,
		      struct fault *f)
{
	if (!box_config_list(c, "local", "allowed_mount_roots", ret))
		box_config_list(c, "local", "host_root", ret);
	if (ret->n > ROOTS_MAX) {
		model_texts_done(ret);
		return fault_set(f, FAULT_VALUE,
				 "box.local.allowed_mount_roots has more than %u entries",
				 ROOTS_MAX);
	}
	for (size_t i = 0; i < ret->n; i++) {
		char *path = absolute(r, ret->item[i]);

		free(ret->item[i]);
		ret->item[i] = path;
	}
	return 0;
}

/* Sets the directories of the skills and of the default workspace. */
static void read_places(struct runtime *r)
{
	const struct box_config *c = &r->config;
	bool based = box_config_text(c, "local", "host_root").n > 0;
	bool named = box_config_text(c, "local", "default_workspace").n > 0;
	AUTO_FREE char *above = local_path(r, c, "host_root", "data/box", NULL);

	free(r->skills_root);
	r->skills_root = local_path(r, c, "skills_root", "skills", above);
	skills_set_root(r->skills, r->skills_root);
	workplace_configure(&r->workplace, based || named
						   ? local_path(r, c, "default_workspace",
								"default", based ? above : NULL)
						   : NULL);
}

static void select_backend(struct runtime *r)
{
	struct str wanted = box_config_text(&r->config, "", "backend");
	AUTO_FREE char *name = xstrndup(wanted.p ? wanted.p : "", wanted.n);
	struct session_counts have;

	sessions_count(r->sessions, NULL, &have);
	if (have.sessions + have.creating + have.closing == 0)
		backend_select(r->backend, name);
}

/* Lowers max_sessions to the number that the limit of open files allows. Peers send their
 * configuration with each connection, so the same value is logged only once. */
static void fit_limits(struct runtime *r)
{
	struct box_limits *l = &r->config.limits;
	int64_t wanted = l->max_sessions;

	if (!box_limits_fit(l, r->descriptors) || l->max_sessions == r->said_sessions)
		return;
	r->said_sessions = l->max_sessions;
	log_line(LOG_WARN,
		 "max_sessions is %" PRId64 " instead of %" PRId64
		 ", because this process may open only %" PRIu64
		 " files (raise the hard limit: ulimit -Hn, LimitNOFILE, or --ulimit nofile)",
		 l->max_sessions, wanted, r->descriptors);
}

/* Applies a configuration. Checks the whole configuration first, so that a bad one changes no
 * setting. */
static int configure(struct runtime *r, const struct json_value *config, struct fault *f)
{
	struct model_texts roots = { 0 };
	struct box_config next;
	struct cordon_config cordon = { 0 };
	int64_t ceiling_mb;

	box_config_copy(&r->config, &next);
	if (box_config_merge(&next, config, f) < 0 ||
	    box_config_int(&next, "cordon", "memory_ceiling_mb", CEILING_DEFAULT_BYTES >> 20, 16,
			   1 << 20, &ceiling_mb, f) < 0 ||
	    cordon_config_read(&next, &cordon, f) < 0 || read_roots(r, &next, &roots, f) < 0) {
		cordon_config_done(&cordon);
		box_config_done(&next);
		return -1;
	}
	box_config_done(&r->config);
	r->config = next;
	fit_limits(r);
	cordon_config_done(&r->cordon);
	r->cordon = cordon;
	model_texts_done(&r->roots);
	r->roots = roots;
	r->ceiling->max = (size_t)ceiling_mb << 20;
	read_places(r);
	r->fence.max = r->admission.max = (size_t)r->config.limits.max_admission_records;
	grant_gate_configure(r->gate, box_config_get(&r->config, "", "admission"));
	examiner_forget(r->examiner);
	select_backend(r);
	return 0;
}

/* Remembers for /readyz what is wrong with the default workspace. */
static void note_workspace(struct runtime *r, const struct fault *fault)
{
	free(r->workspace_error);
	r->workspace_error = fault ? xstrdup(fault->text) : NULL;
}

/* An action `box_init` that waits for the default workspace. */
struct init {
	struct runtime *runtime;
	struct reply reply;
};

static void on_workspace(void *arg, const struct fault *fault)
{
	struct init *i = arg;
	AUTO_BUF data = BUF_INIT(ANSWER_MAX_BYTES);

	note_workspace(i->runtime, fault);
	buf_add_str(&data, "{\"initialized\":true}");
	i->reply.done(i->reply.arg, fault, fault ? NULL : &data);
	free(i);
}

void runtime_configure(struct runtime *r, const struct json_value *config,
		       const struct reply *reply)
{
	AUTO_FAULT f = { 0 };
	struct init *i;

	if (configure(r, config, &f) < 0) {
		reply->done(reply->arg, &f, NULL);
		return;
	}
	i = xcalloc(1, sizeof(*i));
	*i = (struct init){ r, *reply };
	workplace_find(&r->workplace, true, on_workspace, i);
}

/* No peer waits for this result, so a fault only goes to the log and to /readyz. A peer gets the
 * fault later, when its `box_init` fails for the same reason. */
static void on_first_workspace(void *arg, const struct fault *fault)
{
	note_workspace(arg, fault);
	if (fault)
		log_line(LOG_ERROR, "%s", fault->text);
}

static void on_swept(void *arg, const struct hands_answer *a)
{
	if (a->err)
		log_line(LOG_WARN, "cannot remove what an earlier server left: %s", a->err->msg);
}

/* Removes what earlier servers left behind when they were killed together with the supervisors of
 * their sandboxes. */
static void sweep(struct runtime *r)
{
	const struct hand_request q = { .task = HAND_SWEEP };
	struct hands_request *ignored;
	struct err e;

	if (hands_ask(r->hands, &q, clock_mono_ns() + SWEEP_DEADLINE_NS, on_swept, r, &ignored,
		      &e) < 0)
		log_line(LOG_WARN, "cannot remove what an earlier server left: %s", e.msg);
}

/* --- answers --------------------------------------------------------------------------------- */

static void write_backend(const struct runtime *r, bool available, struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "name", available ? backend_public_name(r->backend) : NULL);
	json_key_bool(w, "available", available);
	json_end_object(w);
}

/* A request of a peer. The request waits until the examiner (service/examiner.h) has checked the
 * server. Only `box_status` waits for an answer of the backend instead. */
struct question {
	struct runtime *runtime;
	struct reply reply;
	struct tenant tenant;
	runtime_ready_fn *ready;
	void *ready_arg;
};

static void on_backend_info(void *arg, const struct readiness *ready)
{
	struct question *q = arg;
	AUTO_BUF data = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &data, 0);
	json_begin_object(&w);
	json_key_str(&w, "name", ready->backend_name);
	json_key_bool(&w, "available", readiness_is_ready(ready));
	if (ready->strict) {
		json_key(&w, "readiness");
		json_begin_object(&w);
		readiness_members(ready, &w);
		json_end_object(&w);
	}
	json_end_object(&w);
	q->reply.done(q->reply.arg, NULL, &data);
	free(q);
}

/* Answers `box_health`. If grants are enforced, a server that is not ready is not healthy. */
static void on_health(void *arg, const struct readiness *ready)
{
	struct question *q = arg;
	AUTO_BUF data = BUF_INIT(ANSWER_MAX_BYTES);
	AUTO_FAULT f = { 0 };
	struct json_writer w;

	if (!ready->strict) {
		on_backend_info(arg, ready);
		return;
	}
	json_writer_init(&w, &data, 0);
	json_begin_object(&w);
	readiness_members(ready, &w);
	json_end_object(&w);
	if (!readiness_is_ready(ready))
		fault_set(&f, FAULT_READINESS, "managed sandbox isolation is not ready");
	q->reply.done(q->reply.arg, f.text ? &f : NULL, &data);
	free(q);
}

static struct question *question_new(struct runtime *r, const struct reply *reply)
{
	struct question *q = xcalloc(1, sizeof(*q));

	q->runtime = r;
	if (reply)
		q->reply = *reply;
	return q;
}

void runtime_backend_info(struct runtime *r, const struct reply *reply)
{
	examiner_ask(r->examiner, on_backend_info, question_new(r, reply));
}

void runtime_health(struct runtime *r, const struct reply *reply)
{
	examiner_ask(r->examiner, on_health, question_new(r, reply));
}

static void on_status(void *arg, bool available, const char *why)
{
	struct question *q = arg;
	struct runtime *r = q->runtime;
	AUTO_BUF data = BUF_INIT(ANSWER_MAX_BYTES);
	struct session_counts have;
	struct json_writer w;

	sessions_count(r->sessions, &q->tenant, &have);
	json_writer_init(&w, &data, 0);
	json_begin_object(&w);
	json_key(&w, "backend");
	write_backend(r, available, &w);
	json_key_int(&w, "active_sessions", have.sessions);
	json_key_int(&w, "managed_processes", have.running_processes);
	json_key_int(&w, "session_ttl_sec", (int64_t)sessions_ttl_sec(r->sessions));
	json_key(&w, "limits");
	box_limits_encode(&r->config.limits, &w);
	json_key(&w, "limits_not_enforced");
	enforcement_write_missing(&r->enforced, &w);
	json_end_object(&w);
	q->reply.done(q->reply.arg, NULL, &data);
	free(q);
}

void runtime_status(struct runtime *r, const struct tenant *t, const struct reply *reply)
{
	struct question *q = question_new(r, reply);

	q->tenant = *t;
	backend_ask(r->backend, on_status, q);
}

static void write_resources(const struct runtime *r, struct json_writer *w)
{
	struct session_counts have;

	sessions_count(r->sessions, NULL, &have);
	json_begin_object(w);
	json_key(w, "event_loop");
	json_begin_object(w);
	json_end_object(w);
	json_key(w, "blocking_executor");
	json_begin_object(w);
	json_end_object(w);
	json_key_int(w, "sessions", have.sessions);
	json_key_int(w, "max_sessions", r->config.limits.max_sessions);
	json_key_int(w, "managed_processes", have.running_processes);
	json_key_int(w, "completed_processes", have.completed_processes);
	json_key_int(w, "creating_session_tasks", have.creating);
	json_key_int(w, "closing_session_tasks", have.closing);
	json_key_int(w, "background_tasks", 0);
	json_key_int(w, "memory_held_bytes", (int64_t)r->ceiling->used);
	json_key_int(w, "memory_ceiling_bytes", (int64_t)r->ceiling->max);
	json_end_object(w);
}

void runtime_write_health(const struct runtime *r, struct buf *body)
{
	struct json_writer w;

	json_writer_init(&w, body, 0);
	json_begin_object(&w);
	json_key_bool(&w, "live", true);
	json_key(&w, "resources");
	write_resources(r, &w);
	json_end_object(&w);
}

static void on_readiness(void *arg, const struct readiness *found)
{
	struct question *q = arg;
	struct readiness shown = *found;
	AUTO_BUF body = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w;

	if (!shown.error)
		shown.error = q->runtime->workspace_error;
	json_writer_init(&w, &body, 0);
	json_begin_object(&w);
	readiness_members(&shown, &w);
	json_key(&w, "limits_not_enforced");
	enforcement_write_missing(&q->runtime->enforced, &w);
	json_key(&w, "resources");
	write_resources(q->runtime, &w);
	json_end_object(&w);
	q->ready(q->ready_arg, readiness_is_ready(found), (struct str){ buf_str(&body), body.n });
	free(q);
}

void runtime_readiness(struct runtime *r, runtime_ready_fn *fn, void *arg)
{
	struct question *q = question_new(r, NULL);

	q->ready = fn;
	q->ready_arg = arg;
	examiner_ask(r->examiner, on_readiness, q);
}

/* --- the shared volume ----------------------------------------------------------------------- */

/* A peer's question about a marker file in the default workspace. */
struct verification {
	struct reply reply;
	char *name;
};

static bool is_marker(struct str name)
{
	size_t n = strlen(WORKPLACE_MARKER);

	if (name.n != n + 32 || memcmp(name.p, WORKPLACE_MARKER, n) != 0)
		return false;
	for (size_t i = n; i < name.n; i++)
		if (!strchr("0123456789abcdef", name.p[i]) || !name.p[i])
			return false;
	return true;
}

static void on_marker(void *arg, const struct fault *fault, const char *digest, uint64_t size)
{
	struct verification *v = arg;
	AUTO_BUF data = BUF_INIT(ANSWER_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &data, 0);
	json_begin_object(&w);
	json_key_str(&w, "marker_name", v->name);
	json_key_str(&w, "sha256", digest);
	json_key_int(&w, "size", (int64_t)size);
	json_end_object(&w);
	v->reply.done(v->reply.arg, fault, fault ? NULL : &data);
	free(v->name);
	free(v);
}

void runtime_verify_volume(struct runtime *r, const struct json_value *data,
			   const struct reply *reply)
{
	const struct json_value *name = json_get(data, "marker_name");
	struct verification *v;
	AUTO_FAULT f = { 0 };

	if (!name || name->type != JSON_STRING || !is_marker(name->string)) {
		fault_set(&f, FAULT_READINESS,
			  "marker_name must be " WORKPLACE_MARKER
			  " and 32 lowercase hexadecimal digits");
		reply->done(reply->arg, &f, NULL);
		return;
	}
	v = xcalloc(1, sizeof(*v));
	v->reply = *reply;
	v->name = xstrndup(name->string.p, name->string.n);
	workplace_read_marker(&r->workplace, v->name, false, on_marker, v);
}

/* --- the runtime ----------------------------------------------------------------------------- */

static void fill_instance(char out[RUNTIME_INSTANCE_BYTES])
{
	unsigned char random[6];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		out_of_memory();
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
}

/* Adds the examiner, and the gate that enforces grants. */
static void add_gate(struct runtime *r, const struct runtime_parts *parts)
{
	const struct examiner_parts x = { .sessions = r->sessions,
					  .backend = r->backend,
					  .workplace = &r->workplace,
					  .admission = &r->admission,
					  .enforced = &r->enforced,
					  .limits = &r->config.limits,
					  .own = parts->namespaces,
					  .unsafe_storage = parts->unsafe_storage };
	struct grant_gate_parts g = { .loop = r->loop,
				      .sessions = r->sessions,
				      .skills = r->skills,
				      .workplace = &r->workplace,
				      .fence = &r->fence,
				      .cut = parts->cut,
				      .advanced = parts->advanced,
				      .arg = parts->arg };

	admission_init(&r->admission, (size_t)r->config.limits.max_admission_records);
	g.examiner = r->examiner = examiner_new(&x);
	r->gate = grant_gate_new(&r->admission, &g);
}

int runtime_new(const struct runtime_parts *parts, const struct json_value *config,
		struct runtime **ret, struct fault *f)
{
	struct runtime *r = xcalloc(1, sizeof(*r));
	const struct session_engine engine = { .backend_name = backend_name,
					       .plan = plan,
					       .list_roots = list_roots,
					       .made = on_made,
					       .failed = on_create_failed,
					       .arg = r };

	r->loop = parts->loop;
	r->hands = parts->hands;
	r->skills = parts->skills;
	r->ceiling = parts->ceiling;
	r->directory = parts->directory;
	r->home = parts->home;
	fill_instance(r->instance);
	box_config_init(&r->config);
	/* cannot fail: r->config holds only defaults here */
	IGNORE(cordon_config_read(&r->config, &r->cordon, f));
	r->descriptors = parts->descriptors;
	if (!config)
		fit_limits(r);
	r->sessions = sessions_new(r->loop, r->hands, r->ceiling, &r->config.limits, r->instance,
				   &engine);
	r->backend = backend_new(r->loop, r->sessions);
	fence_init(&r->fence, (size_t)r->config.limits.max_admission_records);
	workplace_init(&r->workplace, r->hands, &r->roots);
	read_places(r);
	add_gate(r, parts);
	if (config && configure(r, config, f) < 0) {
		runtime_free(r);
		return -1;
	}
	sweep(r);
	workplace_find(&r->workplace, true, on_first_workspace, r);
	*ret = r;
	return 0;
}

void runtime_free(struct runtime *r)
{
	grant_gate_free(r->gate);
	examiner_free(r->examiner);
	admission_done(&r->admission);
	backend_free(r->backend);
	sessions_free(r->sessions);
	fence_done(&r->fence);
	model_texts_done(&r->roots);
	cordon_config_done(&r->cordon);
	workplace_done(&r->workplace);
	free(r->workspace_error);
	free(r->skills_root);
	box_config_done(&r->config);
	skills_free(r->skills);
	hands_free(r->hands);
	free(r);
}

struct sessions *runtime_sessions(const struct runtime *r)
{
	return r->sessions;
}

struct grant_gate *runtime_gate(const struct runtime *r)
{
	return r->gate;
}

struct fence *runtime_fence(struct runtime *r)
{
	return &r->fence;
}

const struct box_limits *runtime_limits(const struct runtime *r)
{
	return &r->config.limits;
}

struct skills *runtime_skills(const struct runtime *r)
{
	return r->skills;
}
