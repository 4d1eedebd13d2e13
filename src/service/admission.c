/*
 * The first grant or revocation of a Workspace makes its record. The record is never removed,
 * because later grants are compared with the highest generation and the highest revision in the
 * record. So the number of records only grows and needs a limit. When the table is full, new
 * Workspaces are refused.
 */
#include "service/admission.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "service/model.h"

#define CAPACITY_TEXT                                                                       \
	"Sandbox admission record capacity reached; refusing an unbounded Workspace fence " \
	"allocation"

static const struct admission_policy default_policy = {
	.max_sessions = 1,
	.max_grant_ttl_sec = 300,
	.max_timeout_sec = 120,
	.cpus = 1.0,
	.memory_mb = 512,
	.pids_limit = 128,
	.read_only_rootfs = true,
	.readiness_cache_sec = 15,
};

void admission_init(struct admission *a, size_t max)
{
	*a = (struct admission){ .policy = default_policy, .max = max };
}

void admission_done(struct admission *a)
{
	free(a->error);
	workspace_list_done(&a->workspaces);
	free(a->record);
	*a = (struct admission){ 0 };
}

/* --- policy ----------------------------------------------------------------------------------- */

/* Reads an integer from 0 to MAX and returns it. MAX must be 0 or 1, because the error messages are
 * made for these two values only. */
static int64_t read_between(struct model *m, const char *field, int64_t fallback, int64_t max)
{
	int64_t n = model_int(m, field, fallback, 0);

	if (n > max)
		model_fail(m, field, max ? "must be 0 or 1" : "must be 0");
	return n;
}

static void read_only_value(struct model *m, const char *field, const char *value)
{
	model_choice(m, field, 0, &value, 1);
}

static int policy_decode(const struct json_value *v, bool *ret_required,
			 struct admission_policy *ret, struct fault *f)
{
	static const char *const known[] = {
		"required",
		"logical_session_id",
		"required_backend",
		"max_sessions",
		"cpus",
		"max_grant_ttl_sec",
		"max_timeout_sec",
		"max_managed_processes",
		"memory_mb",
		"pids_limit",
		"workspace_quota_mb",
		"read_only_rootfs",
		"readiness_cache_sec",
	};
	struct model m = { .v = v, .inside = "", .class = FAULT_READINESS, .f = f };
	struct admission_policy p = default_policy;
	bool required;

	if (v->type != JSON_OBJECT)
		return fault_set(f, FAULT_READINESS, "admission must be an object");
	required = model_bool(&m, "required", false);
	read_only_value(&m, "logical_session_id", ADMISSION_SESSION);
	read_only_value(&m, "required_backend", "nsjail");
	p.max_sessions = read_between(&m, "max_sessions", p.max_sessions, 1);
	p.max_managed_processes = read_between(&m, "max_managed_processes", 0, 0);
	p.max_grant_ttl_sec = model_int(&m, "max_grant_ttl_sec", p.max_grant_ttl_sec, 1);
	p.max_timeout_sec = model_int(&m, "max_timeout_sec", p.max_timeout_sec, 1);
	p.cpus = model_positive(&m, "cpus", p.cpus);
	p.memory_mb = model_int(&m, "memory_mb", p.memory_mb, 32);
	p.pids_limit = model_int(&m, "pids_limit", p.pids_limit, 1);
	p.read_only_rootfs = model_bool(&m, "read_only_rootfs", p.read_only_rootfs);
	p.workspace_quota_mb = model_int(&m, "workspace_quota_mb", 0, 0);
	p.readiness_cache_sec = model_int(&m, "readiness_cache_sec", p.readiness_cache_sec, 0);
	model_no_others(&m, known, ARRAY_SIZE(known));
	if (m.bad)
		return -1;
	*ret_required = required;
	*ret = p;
	return 0;
}

static void set_error(struct admission *a, const char *text)
{
	free(a->error);
	a->error = text ? xstrdup(text) : NULL;
}

void admission_configure(struct admission *a, const struct json_value *section)
{
	struct admission_policy p = default_policy;
	AUTO_FAULT f = { 0 };
	bool required = false;

	if (section && section->type != JSON_NULL &&
	    policy_decode(section, &required, &p, &f) < 0) {
		a->active = true;
		a->policy = default_policy;
		set_error(a, f.text);
		return;
	}
	if (!required && a->active) {
		set_error(a,
			  "Sandbox admission enforcement cannot be disabled without restarting the "
			  "Box Runtime");
		return;
	}
	a->active = required;
	a->policy = p;
	set_error(a, NULL);
}

int admission_check_config(const struct admission *a, struct fault *f)
{
	if (!a->error)
		return 0;
	return fault_set(f, FAULT_READINESS, "Invalid sandbox admission configuration: %s",
			 a->error);
}

/* --- models ----------------------------------------------------------------------------------- */

/* Reads an integer. Refuses a boolean, a text and 2.0. */
static int64_t read_number(struct model *m, const char *field, int64_t min)
{
	const struct json_value *v = model_get(m, field);

	if (!v)
		model_fail(m, field, "is required");
	else if (v->type != JSON_INT)
		model_fail(m, field, "must be an integer");
	else if (v->integer < min)
		model_fail(m, field,
			   min ? "must be greater than 0" : "must be greater than or equal to 0");
	return m->bad ? min : v->integer;
}

static char *read_id(struct model *m, const char *field)
{
	char *id = model_text(m, field, NULL, true);

	if (!*id)
		model_fail(m, field, "must not be empty");
	return id;
}

static uint64_t read_time(struct model *m, const char *field)
{
	AUTO_FREE char *text = model_text(m, field, NULL, true);
	uint64_t ns = 0;

	if (clock_parse_rfc3339(text, &ns) < 0)
		model_fail(m, field, "must be an ISO 8601 time with a zone");
	return ns;
}

static int finish(const struct model *m, struct admission_grant *g, struct admission_grant *ret)
{
	if (m->bad) {
		admission_grant_done(g);
		return -1;
	}
	*ret = *g;
	return 0;
}

int admission_grant_decode(const struct json_value *v, struct admission_grant *ret, struct fault *f)
{
	static const char *const known[] = { "instance_uuid",        "workspace_uuid",
					     "execution_generation", "entitlement_revision",
					     "expires_at",           "max_sessions",
					     "max_managed_processes" };
	struct model m = { .v = v, .inside = "", .class = FAULT_VALIDATION, .f = f };
	struct admission_grant g = { 0 };

	g.instance = read_id(&m, "instance_uuid");
	g.workspace = read_id(&m, "workspace_uuid");
	g.generation = (uint64_t)read_number(&m, "execution_generation", 1);
	g.revision = (uint64_t)read_number(&m, "entitlement_revision", 1);
	g.expires_ns = read_time(&m, "expires_at");
	g.max_sessions = read_number(&m, "max_sessions", 0);
	g.max_managed_processes = read_number(&m, "max_managed_processes", 0);
	model_no_others(&m, known, ARRAY_SIZE(known));
	return finish(&m, &g, ret);
}

int admission_revocation_decode(const struct json_value *v, struct admission_grant *ret,
				struct fault *f)
{
	static const char *const known[] = { "instance_uuid", "workspace_uuid",
					     "entitlement_revision" };
	struct model m = { .v = v, .inside = "", .class = FAULT_VALIDATION, .f = f };
	struct admission_grant g = { 0 };

	g.instance = read_id(&m, "instance_uuid");
	g.workspace = read_id(&m, "workspace_uuid");
	g.revision = (uint64_t)read_number(&m, "entitlement_revision", 1);
	model_no_others(&m, known, ARRAY_SIZE(known));
	return finish(&m, &g, ret);
}

void admission_grant_done(struct admission_grant *g)
{
	if (!g)
		return;
	free(g->instance);
	free(g->workspace);
	*g = (struct admission_grant){ 0 };
}

/* --- grants ----------------------------------------------------------------------------------- */

static int refuse(struct fault *f, const char *text)
{
	return fault_set(f, FAULT_ADMISSION, "%s", text);
}

int admission_check_enabled(const struct admission *a, struct fault *f)
{
	return a->active ? 0 : refuse(f, "Sandbox admission enforcement is not enabled");
}

static struct admission_record *find(const struct admission *a, const unsigned char *key)
{
	size_t at = workspace_list_find(&a->workspaces, key);

	return at == WORKSPACE_UNKNOWN ? NULL : &a->record[at];
}

/* Returns the record of a Workspace. Adds a record for a new Workspace. Returns NULL with a fault
 * in F if the table is full. */
static struct admission_record *find_or_add(struct admission *a, const struct tenant *t,
					    struct fault *f)
{
	struct admission_record *r = find(a, t->key);
	size_t at;

	if (r)
		return r;
	if (a->workspaces.n >= a->max) {
		refuse(f, CAPACITY_TEXT);
		return NULL;
	}
	at = workspace_list_add(&a->workspaces, t->key);
	a->record = workspace_list_grow_items(a->record, &a->cap, at, sizeof(*a->record));
	memcpy(a->record[at].key, t->key, sizeof(t->key));
	return &a->record[at];
}

/* Checks the parts of a grant that do not depend on the record. */
static int check_bounds(const struct admission *a, const struct admission_grant *g, uint64_t now_ns,
			struct fault *f)
{
	if (g->expires_ns <= now_ns)
		return refuse(f, "Cannot install an expired sandbox admission grant");
	if (g->expires_ns - now_ns > (uint64_t)a->policy.max_grant_ttl_sec * NS_PER_SEC)
		return refuse(f, "Sandbox admission grant lifetime exceeds the configured maximum");
	if (g->max_sessions > a->policy.max_sessions)
		return refuse(f, "Sandbox admission grant exceeds the session cap");
	if (g->max_managed_processes > a->policy.max_managed_processes)
		return refuse(f, "Sandbox admission grant exceeds the managed-process cap");
	return 0;
}

static bool same_limits(const struct admission_record *r, const struct admission_grant *g)
{
	return r->max_sessions == g->max_sessions &&
	       r->max_managed_processes == g->max_managed_processes;
}

/* Checks that the grant is newer than a revocation and not older than the record or the generation
 * FENCED, and that a grant with the revision of the record has the same limits. */
static int check_order(const struct admission_record *r, const struct admission_grant *g,
		       uint64_t fenced, struct fault *f)
{
	if (r->revoked_revision && g->revision <= r->revoked_revision)
		return refuse(f, "Sandbox admission grant revision was revoked");
	if (g->revision < r->highest_revision)
		return refuse(f, "Sandbox admission grant revision is stale");
	if (g->generation < r->highest_generation || g->generation < fenced)
		return refuse(f, "Sandbox admission execution generation is stale");
	if (g->revision == r->highest_revision && !same_limits(r, g))
		return refuse(
			f, "Sandbox admission limits changed without a new entitlement revision");
	return 0;
}

static enum admission_effect install(struct admission_record *r, const struct admission_grant *g)
{
	bool all = !r->granted || r->generation != g->generation || g->max_sessions == 0;

	if (r->granted && r->revision == g->revision && r->generation == g->generation &&
	    g->expires_ns < r->expires_ns)
		return ADMISSION_NONE;
	r->granted = true;
	r->generation = r->highest_generation = g->generation;
	r->revision = r->highest_revision = g->revision;
	r->expires_ns = g->expires_ns;
	r->max_sessions = g->max_sessions;
	r->max_managed_processes = g->max_managed_processes;
	return all ? ADMISSION_DROP_SESSIONS : ADMISSION_KEEP_ONE;
}

int admission_check_install(const struct admission *a, const struct admission_grant *g,
			    struct str trusted, uint64_t fenced, uint64_t now_ns, struct fault *f)
{
	static const struct admission_record unknown;
	const struct admission_record *known;
	struct tenant t;

	if (admission_check_enabled(a, f) < 0 || admission_check_config(a, f) < 0)
		return -1;
	if (!str_eq(trusted, g->instance))
		return fault_set(f, FAULT_PERMISSION,
				 "Sandbox admission grant does not match the trusted instance");
	tenant_init(&t, str_of(g->instance), str_of(g->workspace), g->generation);
	known = find(a, t.key);
	if (check_bounds(a, g, now_ns, f) < 0)
		return -1;
	if (!known && a->workspaces.n >= a->max)
		return refuse(f, CAPACITY_TEXT);
	return check_order(known ? known : &unknown, g, fenced, f);
}

int admission_install(struct admission *a, const struct admission_grant *g, struct str trusted,
		      uint64_t fenced, uint64_t now_ns, enum admission_effect *ret_effect,
		      const struct admission_record **ret_record, struct fault *f)
{
	struct admission_record *r;
	struct tenant t;

	/* before a record is added, so that a refused grant makes no record */
	if (admission_check_install(a, g, trusted, fenced, now_ns, f) < 0)
		return -1;
	tenant_init(&t, str_of(g->instance), str_of(g->workspace), g->generation);
	r = find_or_add(a, &t, f);
	if (!r)
		return -1;
	*ret_effect = install(r, g);
	*ret_record = r;
	return 0;
}

int admission_revoke(struct admission *a, const struct admission_grant *g, struct str trusted,
		     struct fault *f)
{
	struct admission_record *r;
	struct tenant t;

	if (admission_check_enabled(a, f) < 0)
		return -1;
	if (!str_eq(trusted, g->instance))
		return fault_set(
			f, FAULT_PERMISSION,
			"Sandbox admission revocation does not match the trusted instance");
	tenant_init(&t, str_of(g->instance), str_of(g->workspace), 1);
	r = find_or_add(a, &t, f);
	if (!r)
		return -1;
	if (g->revision < r->highest_revision || g->revision < r->revoked_revision)
		return refuse(f, "Sandbox admission revocation is stale");
	r->granted = false;
	r->revoked_revision = r->highest_revision = g->revision;
	return 0;
}

void admission_encode_receipt(const struct admission_grant *g, const struct admission_record *r,
			      struct json_writer *w)
{
	char text[CLOCK_RFC3339_BYTES];

	clock_rfc3339_ms(r->expires_ns, text);
	json_key_bool(w, "installed", true);
	json_key_str(w, "workspace_uuid", g->workspace);
	json_key_int(w, "execution_generation", (int64_t)r->generation);
	json_key_int(w, "entitlement_revision", (int64_t)r->revision);
	json_key_int(w, "max_sessions", r->max_sessions);
	json_key_int(w, "max_managed_processes", r->max_managed_processes);
	json_key_str(w, "expires_at", text);
}

void admission_encode_revoked(const struct admission_grant *g, struct json_writer *w)
{
	json_key_bool(w, "revoked", true);
	json_key_str(w, "workspace_uuid", g->workspace);
	json_key_int(w, "entitlement_revision", (int64_t)g->revision);
}

void admission_expire(struct admission *a, uint64_t now_ns,
		      void (*expired)(void *arg, const unsigned char key[TENANT_KEY_BYTES]),
		      void *arg)
{
	for (size_t i = 0; i < a->workspaces.n; i++) {
		if (!a->record[i].granted || a->record[i].expires_ns > now_ns)
			continue;
		a->record[i].granted = false;
		expired(arg, a->record[i].key);
	}
}

uint64_t admission_next_expiry(const struct admission *a)
{
	uint64_t next = 0;

	for (size_t i = 0; i < a->workspaces.n; i++)
		if (a->record[i].granted && (!next || a->record[i].expires_ns < next))
			next = a->record[i].expires_ns;
	return next;
}

/* --- what a grant allows ---------------------------------------------------------------------- */

int admission_require(struct admission *a, const struct tenant *t, enum admission_use use,
		      uint64_t now_ns, bool *ret_expired, struct fault *f)
{
	struct admission_record *r = find(a, t->key);

	*ret_expired = false;
	if (!r || !r->granted)
		return refuse(f, "Sandbox admission grant is missing");
	if (r->expires_ns <= now_ns) {
		r->granted = false;
		*ret_expired = true;
		return refuse(f, "Sandbox admission grant has expired");
	}
	if (r->generation != t->generation)
		return refuse(f, "Sandbox admission grant belongs to another execution generation");
	if (r->max_sessions < 1)
		return refuse(f, "Sandbox admission grant does not permit sessions");
	if (r->max_sessions > a->policy.max_sessions ||
	    r->max_managed_processes > a->policy.max_managed_processes)
		return refuse(f, "Sandbox admission grant exceeds the active runtime policy");
	if (use == ADMISSION_PROCESSES && r->max_managed_processes < 1)
		return refuse(f, "Sandbox admission grant does not permit managed processes");
	if (use == ADMISSION_RELAY && r->max_managed_processes < 1)
		return refuse(f, "Sandbox admission grant does not permit managed process relay");
	return 0;
}

int admission_check_sessions(const struct admission *a, const struct tenant *t, size_t live,
			     struct fault *f)
{
	const struct admission_record *r = find(a, t->key);

	if (!r || !r->granted || live >= (size_t)r->max_sessions)
		return refuse(f, "Sandbox admission session limit reached");
	return 0;
}

int admission_check_session_id(struct str session_id, struct fault *f)
{
	if (str_eq(session_id, ADMISSION_SESSION))
		return 0;
	return refuse(f, "Managed sandbox session_id is runtime-owned");
}

static void replace(char **text, const char *by)
{
	free(*text);
	*text = by ? xstrdup(by) : NULL;
}

/* Compares the normal form of the workdir, so that a ".." in it does not lead out of the
 * workspace. */
static bool workdir_is_inside(const struct box_spec *s)
{
	AUTO_BUF normal = BUF_INIT(strlen(s->workdir) + 1);

	box_path_normal(s->workdir, &normal);
	return box_path_inside(buf_str(&normal), BOX_DEFAULT_PLACE);
}

static int check_spec(const struct box_spec *s, const char *host_path, const char *skill_root,
		      struct fault *f)
{
	if (s->network != BOX_OFFLINE)
		return refuse(f, "Managed sandbox network access is disabled");
	if (s->extra_mounts.n)
		return refuse(f, "Managed sandbox additional host mounts are disabled");
	if (strcmp(s->mount_path, BOX_DEFAULT_PLACE) != 0)
		return refuse(f, "Managed sandbox mount_path is runtime-owned");
	if (!workdir_is_inside(s))
		return refuse(f, "Managed sandbox workdir must stay under /workspace");
	if (s->host_path && strcmp(s->host_path, host_path) != 0)
		return refuse(f, "Managed sandbox host_path is runtime-owned");
	if (s->skill_name && !skill_root)
		return refuse(f, "Managed sandbox skill is unavailable in this Workspace");
	return 0;
}

int admission_rewrite(const struct admission *a, struct box_spec *s, const char *host_path,
		      const char *skill_root, struct fault *f)
{
	const struct admission_policy *p = &a->policy;

	if (check_spec(s, host_path, skill_root, f) < 0)
		return -1;
	replace(&s->session_id, ADMISSION_SESSION);
	replace(&s->image, BOX_DEFAULT_IMAGE);
	replace(&s->host_path, host_path);
	s->host_path_mode = BOX_MODE_RW;
	s->persistent = true;
	if (s->timeout_sec > p->max_timeout_sec)
		s->timeout_sec = p->max_timeout_sec;
	s->cpus = p->cpus;
	s->memory_mb = p->memory_mb;
	s->pids_limit = p->pids_limit;
	s->read_only_rootfs = p->read_only_rootfs;
	s->workspace_quota_mb = p->workspace_quota_mb;
	if (s->skill_name) {
		free(s->extra_mounts.item);
		s->extra_mounts.item = xcalloc(1, sizeof(*s->extra_mounts.item));
		s->extra_mounts.n = 1;
		s->extra_mounts.item[0] = (struct box_mount){
			.host_path = xstrdup(skill_root),
			.mount_path = xasprintf("%s/.skills/%s", BOX_DEFAULT_PLACE, s->skill_name),
			.mode = BOX_MODE_RO,
		};
	}
	return 0;
}
