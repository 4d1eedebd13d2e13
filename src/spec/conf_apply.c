/*
 * The table `keys` lists the keys of --conf files and project files, in the order in which they are
 * applied: for example, `shell` comes before `scripts`, because scripts use the shell. For each
 * key, the table also says which other files may have it, such as the files of --resource-conf. A
 * key whose feature does not exist yet is refused, so that no setting is ignored in silence.
 */
#include "spec/conf_apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/cpus.h"
#include "spec/grammar.h"
#include "spec/list.h"
#include "spec/words.h"

static int replace_text(const struct json_value *v, const char *path, char **to, struct err *e)
{
	const char *s = conf_text(v, path, e);

	if (!s)
		return -1;
	free(*to);
	*to = xstrdup(s);
	return 0;
}

/* --- image --------------------------------------------------------------------------------- */

static int apply_image_object(const struct json_value *v, const char *path, struct conf_target *a,
			      struct err *e)
{
	struct {
		const char *oci, *bind, *disk, *snapshot, *upper_size, *fstype;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), oci, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), bind, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), disk, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), snapshot, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), upper_size, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), fstype, JSON_OPTIONAL),
	};
	struct spec_image *i = &a->s->image;

	if (conf_decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	if (!!in.oci + !!in.bind + !!in.disk + !!in.snapshot != 1)
		return err_set(e, ERR_INVALID, "%s: give one of oci, bind, disk, snapshot", path);
	if (in.snapshot || in.fstype)
		return conf_not_yet(in.snapshot ? "image.snapshot" : "image.fstype", e);
	if (in.upper_size && in.disk)
		return err_set(e, ERR_INVALID, "%s: upper_size goes with oci or bind only", path);
	if (parse_image(in.oci ? in.oci : in.bind ? in.bind : in.disk, i, e) < 0)
		return -1;
	if (in.oci && i->kind != IMAGE_OCI && i->kind != IMAGE_HOST)
		return err_set(e, ERR_INVALID, "%s: oci must be a reference, not a path", path);
	if (in.disk && i->cow)
		return err_set(e, ERR_INVALID, "%s: a disk cannot be copy-on-write", path);
	if (!in.oci)
		i->kind = in.bind ? IMAGE_DIR : IMAGE_DISK;
	return in.upper_size ? parse_root_disk("image.upper_size", in.upper_size, &i->root_disk, e)
			     : 0;
}

static int apply_image(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	const char *s;

	if (v->type == JSON_OBJECT)
		return apply_image_object(v, path, a, e);
	s = conf_text(v, path, e);
	return s ? parse_image(s, &a->s->image, e) : -1;
}

static int apply_pull_policy(const struct json_value *v, const char *path, struct conf_target *a,
			     struct err *e)
{
	const char *s = conf_text(v, path, e);
	int i;

	if (!s)
		return -1;
	i = word_index(spec_pull_words, strcmp(s, "missing") == 0 ? "if-missing" : s);
	if (i < 0)
		return err_set(e, ERR_INVALID, "%s: expected missing, always or never, got '%.64s'",
			       path, s);
	a->s->pull = (enum spec_pull)i;
	return 0;
}

static int apply_registry(const struct json_value *v, const char *path, struct conf_target *a,
			  struct err *e)
{
	struct {
		const char *username, *password_env;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), username, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), password_env, JSON_REQUIRED),
	};

	if (conf_decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	a->x->registry_username = xstrdup(in.username);
	a->x->registry_password_env = xstrdup(in.password_env);
	return 0;
}

/* --- resources ----------------------------------------------------------------------------- */

static int apply_cpus(const struct json_value *v, const char *path, struct conf_target *a,
		      struct err *e)
{
	if (cpus_read_json(v, path, &a->s->cpu_milli, e) < 0)
		return -1;
	a->s->max_cpu_milli = a->s->cpu_milli;
	a->s->cpus_set = true;
	return 0;
}

static int apply_memory(const struct json_value *v, const char *path, struct conf_target *a,
			struct err *e)
{
	const char *s = conf_text(v, path, e);

	if (!s || parse_size_mib(path, s, &a->s->memory_mib, e) < 0)
		return -1;
	a->s->max_memory_mib = a->s->memory_mib;
	a->s->memory_set = true;
	return 0;
}

static int apply_pids_limit(const struct json_value *v, const char *path, struct conf_target *a,
			    struct err *e)
{
	if (v->type != JSON_INT || v->integer < 1 || v->integer > SPEC_PIDS_MAX)
		return err_set(e, ERR_INVALID, "%s: expected a whole number from 1 to %u", path,
			       SPEC_PIDS_MAX);
	a->s->pids_limit = (uint64_t)v->integer;
	a->s->pids_set = true;
	return 0;
}

static int apply_soft_limits(const struct json_value *v, const char *path, struct conf_target *a,
			     struct err *e)
{
	if (v->type != JSON_BOOL)
		return err_set(e, ERR_INVALID, "%s: expected true or false", path);
	a->s->soft_limits = v->boolean;
	return 0;
}

static int apply_max_duration(const struct json_value *v, const char *path, struct conf_target *a,
			      struct err *e)
{
	const char *s = conf_text(v, path, e);

	return s ? parse_duration_s(path, s, &a->s->max_duration_s, e) : -1;
}

static int apply_idle_timeout(const struct json_value *v, const char *path, struct conf_target *a,
			      struct err *e)
{
	const char *s = conf_text(v, path, e);

	return s ? parse_duration_s(path, s, &a->s->idle_timeout_s, e) : -1;
}

static int apply_rlimit(const struct json_value *v, const char *path, struct conf_target *a,
			struct err *e)
{
	struct {
		const char *resource;
		int64_t soft, hard;
	} in = { .hard = -1 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), resource, JSON_REQUIRED),
		FIELD_INT(__typeof__(in), soft, JSON_REQUIRED, 0, INT64_MAX),
		FIELD_INT(__typeof__(in), hard, JSON_OPTIONAL, 0, INT64_MAX),
	};
	struct spec_rlimit r;
	const char *refused;

	if (conf_decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	r.resource = rlimit_number(in.resource);
	r.soft = (uint64_t)in.soft;
	r.hard = in.hard < 0 ? r.soft : (uint64_t)in.hard;
	if (r.resource < 0)
		return err_set(e, ERR_INVALID, "%s: unknown resource '%.32s'", path, in.resource);
	refused = rlimit_refused(&r);
	if (refused)
		return err_set(e, ERR_INVALID, "%s: %s", path, refused);
	for (size_t i = 0; i < a->s->n_rlimits; i++)
		if (a->s->rlimit[i].resource == r.resource)
			return err_set(e, ERR_INVALID, "%s: '%.32s' is limited twice", path,
				       in.resource);
	*LIST_ADD(a->s->rlimit, a->s->n_rlimits) = r;
	return 0;
}

static int apply_rlimits(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	return conf_each(v, path, a, apply_rlimit, e);
}

/* --- runtime ------------------------------------------------------------------------------- */

static int apply_workdir(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	if (replace_text(v, path, &a->s->workdir, e) < 0)
		return -1;
	if (*a->s->workdir != '/')
		return err_set(e, ERR_INVALID, "%s: '%.128s' is not an absolute path", path,
			       a->s->workdir);
	return 0;
}

static int apply_shell(const struct json_value *v, const char *path, struct conf_target *a,
		       struct err *e)
{
	return replace_text(v, path, &a->s->shell, e) < 0 ? -1 : parse_shell(a->s->shell, e);
}

static int apply_user(const struct json_value *v, const char *path, struct conf_target *a,
		      struct err *e)
{
	return replace_text(v, path, &a->s->user, e) < 0 ? -1 : parse_user(a->s->user, e);
}

static int apply_hostname(const struct json_value *v, const char *path, struct conf_target *a,
			  struct err *e)
{
	return replace_text(v, path, &a->s->hostname, e) < 0 ? -1
							     : parse_hostname(a->s->hostname, e);
}

static int apply_security(const struct json_value *v, const char *path, struct conf_target *a,
			  struct err *e)
{
	const char *s = conf_text(v, path, e);

	if (!s)
		return -1;
	if (strcmp(s, "default") != 0 && strcmp(s, "restricted") != 0)
		return err_set(e, ERR_INVALID, "%s: expected default or restricted, got '%.64s'",
			       path, s);
	a->s->restricted = *s == 'r';
	return 0;
}

static int apply_filters(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	if (v->type != JSON_BOOL)
		return err_set(e, ERR_INVALID, "%s: expected true or false", path);
	a->s->own_filters = v->boolean;
	return 0;
}

static int apply_entrypoint(const struct json_value *v, const char *path, struct conf_target *a,
			    struct err *e)
{
	strv_done(&a->s->entrypoint);
	a->s->has_entrypoint = true;
	return conf_texts(v, path, "", &a->s->entrypoint, e);
}

static int apply_cmd(const struct json_value *v, const char *path, struct conf_target *a,
		     struct err *e)
{
	strv_done(&a->s->cmd);
	return conf_texts(v, path, "", &a->s->cmd, e);
}

/* Calls ONE with the text "key=value" for each member of V. */
static int each_pair(const struct json_value *v, const char *path, struct conf_target *a,
		     int (*one)(const char *pair, struct conf_target *, struct err *),
		     struct err *e)
{
	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s: expected a map", path);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];
		AUTO_FREE char *at = xasprintf("%s.%s", path, m->key.p);
		AUTO_FREE char *pair = NULL;
		const char *s = conf_text(&m->value, at, e);

		if (!s)
			return -1;
		if (strchr(m->key.p, '='))
			return err_set(e, ERR_INVALID, "%s: '=' is not allowed in a name", at);
		pair = xasprintf("%s=%s", m->key.p, s);
		if (one(pair, a, e) < 0)
			return err_wrap(e, "%s", at);
	}
	return 0;
}

static int one_env(const char *pair, struct conf_target *a, struct err *e)
{
	return spec_add_env(&a->s->env, &a->s->n_env, "--env", pair, e);
}

static int one_label(const char *pair, struct conf_target *a, struct err *e)
{
	return spec_add_label(a->s, pair, e);
}

static int apply_env(const struct json_value *v, const char *path, struct conf_target *a,
		     struct err *e)
{
	return each_pair(v, path, a, one_env, e);
}

/* V is a list of texts "NAME=value". In the configuration, `env_file` is a path, but conf.c has
 * already read this file and replaced the path by the list. */
static int apply_env_file(const struct json_value *v, const char *path, struct conf_target *a,
			  struct err *e)
{
	struct strv all = { 0 };
	int r = conf_texts(v, path, "", &all, e);

	for (size_t i = 0; r == 0 && i < all.n; i++) {
		AUTO_FREE char *name = xstrndup(all.v[i], strcspn(all.v[i], "="));

		r = one_env(all.v[i], a, e);
		strv_add(&a->x->env_file_names, name);
	}
	strv_done(&all);
	return r;
}

static int apply_labels(const struct json_value *v, const char *path, struct conf_target *a,
			struct err *e)
{
	return each_pair(v, path, a, one_label, e);
}

static int apply_init(const struct json_value *v, const char *path, struct conf_target *a,
		      struct err *e)
{
	return conf_not_yet(path, e);
}

static int apply_secrets(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	return conf_not_yet(path, e);
}

/* --- scripts ------------------------------------------------------------------------------- */

static int apply_script(const struct json_member *m, const char *path, struct conf_target *a,
			struct err *e)
{
	AUTO_BUF body = BUF_INIT(SCRIPT_MAX_BYTES);
	const char *s = conf_text(&m->value, path, e);

	if (!s || spec_check_name(path, m->key.p, e) < 0)
		return -1;
	script_shebang(&body, a->shell ? a->shell : a->s->shell);
	buf_add_str(&body, s);
	if (buf_str(&body)[body.n - 1] != '\n')
		buf_add_char(&body, '\n');
	if (buf_failed(&body))
		return err_set(e, ERR_LIMIT, "%s: larger than %u bytes", path, SCRIPT_MAX_BYTES);
	return spec_set_script(a->s, path, m->key.p, buf_take(&body), e);
}

static int apply_scripts(const struct json_value *v, const char *path, struct conf_target *a,
			 struct err *e)
{
	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s: expected a map", path);
	for (size_t i = 0; i < v->object.n; i++) {
		AUTO_FREE char *at = xasprintf("%s.%s", path, v->object.member[i].key.p);

		if (apply_script(&v->object.member[i], at, a, e) < 0)
			return -1;
	}
	return 0;
}

/* --- the root ------------------------------------------------------------------------------ */

#define IN(scope) (1u << (scope))

static const struct {
	const char *name;
	/* Which further kinds of files may have the key, besides a --conf file and a project file.
	 * A key with IN(CONF_PROJECT) may appear only in a project file. */
	unsigned scopes;
	int (*apply)(const struct json_value *v, const char *path, struct conf_target *a,
		     struct err *e);
} keys[] = {
	// clang-format off
	{ "image",        0,                 apply_image },
	{ "pull_policy",  0,                 apply_pull_policy },
	{ "registry",     0,                 apply_registry },
	{ "cpus",         IN(CONF_RESOURCE), apply_cpus },
	{ "memory",       IN(CONF_RESOURCE), apply_memory },
	{ "pids_limit",   IN(CONF_RESOURCE), apply_pids_limit },
	{ "soft_limits",  IN(CONF_RESOURCE), apply_soft_limits },
	{ "max_duration", IN(CONF_RESOURCE), apply_max_duration },
	{ "idle_timeout", IN(CONF_RESOURCE), apply_idle_timeout },
	{ "rlimits",      IN(CONF_RESOURCE), apply_rlimits },
	{ "workdir",      IN(CONF_RUNTIME),  apply_workdir },
	{ "shell",        IN(CONF_RUNTIME),  apply_shell },
	{ "user",         IN(CONF_RUNTIME),  apply_user },
	{ "hostname",     IN(CONF_RUNTIME),  apply_hostname },
	{ "security",     IN(CONF_RUNTIME),  apply_security },
	{ "seccomp_filters", IN(CONF_RUNTIME), apply_filters },
	{ "entrypoint",   IN(CONF_RUNTIME),  apply_entrypoint },
	{ "cmd",          IN(CONF_RUNTIME),  apply_cmd },
	{ "env_file",     IN(CONF_PROJECT),  apply_env_file },
	{ "env",          IN(CONF_RUNTIME),  apply_env },
	{ "labels",       IN(CONF_RUNTIME),  apply_labels },
	{ "init",         IN(CONF_RUNTIME),  apply_init },
	{ "mounts",       IN(CONF_FS),       conf_apply_mounts },
	{ "read_only",    IN(CONF_FS),       conf_apply_read_only },
	{ "writable",     IN(CONF_FS),       conf_apply_writable },
	{ "root_disk",    IN(CONF_FS),       conf_apply_root_disk },
	{ "patch_files",  IN(CONF_FS),       conf_apply_patch_files },
	{ "patches",      IN(CONF_FS),       conf_apply_patches },
	{ "network",      0,                 conf_apply_network },
	{ "secrets",      0,                 apply_secrets },
	{ "scripts",      0,                 apply_scripts },
	{ "ports",        0,                 conf_apply_ports },
	// clang-format on
};

int conf_check_keys(const struct json_value *v, enum conf_scope scope, struct err *e)
{
	const char *known[ARRAY_SIZE(keys) + 1] = { 0 };
	size_t n = 0;

	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "expected a map");
	if (scope == CONF_SECRET || scope == CONF_SCRIPT)
		return 0; /* any key is allowed, because the keys are names that the user chose */
	if (scope == CONF_NET)
		for (size_t i = 0; i < CONF_NET_FIELDS; i++)
			known[n++] = conf_net_fields[i].key;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (scope == CONF_PROJECT || (keys[i].scopes & IN(scope)) ||
		    (scope == CONF_ROOT && keys[i].scopes != IN(CONF_PROJECT)))
			known[n++] = keys[i].name;
	return conf_refuse_unknown(v, "", known, e);
}

int conf_apply_value(const struct json_value *v, const char *shell, struct spec *s,
		     struct conf_extra *x, struct err *e)
{
	struct conf_target a = { .s = s, .x = x, .shell = shell };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct json_value *m = json_get(v, keys[i].name);

		if (m && m->type != JSON_NULL && keys[i].apply(m, keys[i].name, &a, e) < 0)
			return -1;
	}
	return 0;
}
