/*
 * One table holds the root's keys in the order they are applied (the shell before the scripts), and
 * which scoped files may hold them. What is understood but not built says so: nothing a file asks
 * for is passed over in silence.
 */
#include "spec/conf_apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spec/grammar.h"
#include "spec/list.h"
#include "spec/words.h"

struct apply {
	struct spec *s;
	struct conf_extra *x;
	const char *shell; /* --shell's value, or NULL */
};

/* --- reading ------------------------------------------------------------------------------- */

/* V is a map whose keys are all in KNOWN, or an error lists those. */
static int refuse_unknown(const struct json_value *v, const char *path, const char *const *known,
			  struct err *e)
{
	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s%sexpected a map", path, *path ? ": " : "");
	for (size_t i = 0; i < v->object.n; i++) {
		AUTO_BUF list = BUF_INIT(1024);
		struct str key = v->object.member[i].key;

		if (word_index(known, key.p) >= 0)
			continue;
		for (size_t k = 0; known[k]; k++)
			buf_addf(&list, "%s%s", k ? ", " : "", known[k]);
		return err_set(e, ERR_INVALID, "%s%sunknown key '%.64s'; known keys are %s", path,
			       *path ? ": " : "", key.p, buf_str(&list));
	}
	return 0;
}

/* json_decode, with unknown keys refused and the known ones listed. */
static int decode(const struct json_value *v, const char *path, const struct json_field *f,
		  size_t n, void *out, struct err *e)
{
	AUTO_FREE const char **known = xcalloc(n + 1, sizeof(*known));

	for (size_t i = 0; i < n; i++)
		known[i] = f[i].key;
	if (refuse_unknown(v, path, known, e) < 0)
		return -1;
	return json_decode(v, path, f, n, false, out, e);
}

/* V's characters, or NULL with a message. Without NUL: expansion refused those. */
static const char *text(const struct json_value *v, const char *path, struct err *e)
{
	if (v->type == JSON_STRING)
		return v->string.p;
	err_set(e, ERR_INVALID, "%s: expected a string; put it in quotes", path);
	return NULL;
}

static int replace_text(const struct json_value *v, const char *path, char **to, struct err *e)
{
	const char *s = text(v, path, e);

	if (!s)
		return -1;
	free(*to);
	*to = xstrdup(s);
	return 0;
}

static int texts(const struct json_value *v, const char *path, const char *prefix, struct strv *ret,
		 struct err *e)
{
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "%s: expected a list of strings", path);
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *at = xasprintf("%s[%zu]", path, i);
		AUTO_FREE char *whole = NULL;
		const char *s = text(&v->array.item[i], at, e);

		if (!s)
			return -1;
		whole = xasprintf("%s%s", prefix, s);
		strv_add(ret, whole);
	}
	return 0;
}

static int each(const struct json_value *v, const char *path, struct apply *a,
		int (*one)(const struct json_value *, const char *, struct apply *, struct err *),
		struct err *e)
{
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "%s: expected a list", path);
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *at = xasprintf("%s[%zu]", path, i);

		if (one(&v->array.item[i], at, a, e) < 0)
			return -1;
	}
	return 0;
}

static int not_yet(const char *what, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED, "%s is not supported yet", what);
}

/* --- image --------------------------------------------------------------------------------- */

static int apply_image_object(const struct json_value *v, const char *path, struct apply *a,
			      struct err *e)
{
	struct {
		const char *oci, *bind, *disk, *snapshot, *upper_size, *fstype;
	} in = { 0 };
	const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), oci, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), bind, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), disk, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), snapshot, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), upper_size, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), fstype, JSON_OPTIONAL),
	};
	struct spec_image *i = &a->s->image;

	if (decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	if (!!in.oci + !!in.bind + !!in.disk + !!in.snapshot != 1)
		return err_set(e, ERR_INVALID, "%s: give one of oci, bind, disk, snapshot", path);
	if (in.snapshot || in.fstype)
		return not_yet(in.snapshot ? "image.snapshot" : "image.fstype", e);
	if (in.upper_size && !in.oci)
		return err_set(e, ERR_INVALID, "%s: upper_size goes with oci only", path);
	if (parse_image(in.oci ? in.oci : in.bind ? in.bind : in.disk, i, e) < 0)
		return -1;
	if (in.oci && i->kind != IMAGE_OCI && i->kind != IMAGE_HOST)
		return err_set(e, ERR_INVALID, "%s: oci must be a reference, not a path", path);
	if (!in.oci)
		i->kind = in.bind ? IMAGE_DIR : IMAGE_DISK;
	return in.upper_size ? parse_root_disk("image.upper_size", in.upper_size, &i->root_disk, e)
			     : 0;
}

static int apply_image(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	const char *s;

	if (v->type == JSON_OBJECT)
		return apply_image_object(v, path, a, e);
	s = text(v, path, e);
	return s ? parse_image(s, &a->s->image, e) : -1;
}

static int apply_pull_policy(const struct json_value *v, const char *path, struct apply *a,
			     struct err *e)
{
	const char *s = text(v, path, e);
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

static int apply_registry(const struct json_value *v, const char *path, struct apply *a,
			  struct err *e)
{
	struct {
		const char *username, *password_env;
	} in = { 0 };
	const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), username, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), password_env, JSON_REQUIRED),
	};

	if (decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	a->x->registry_username = xstrdup(in.username);
	a->x->registry_password_env = xstrdup(in.password_env);
	return 0;
}

/* --- resources ----------------------------------------------------------------------------- */

static int apply_cpus(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	if (v->type != JSON_INT || v->integer < 1 || v->integer > SPEC_CPUS_MAX)
		return err_set(e, ERR_INVALID, "%s: expected a number from 1 to %u", path,
			       SPEC_CPUS_MAX);
	a->s->cpus = a->s->max_cpus = (uint32_t)v->integer;
	a->s->cpus_set = true;
	return 0;
}

static int apply_memory(const struct json_value *v, const char *path, struct apply *a,
			struct err *e)
{
	const char *s = text(v, path, e);

	if (!s || parse_size_mib(path, s, &a->s->memory_mib, e) < 0)
		return -1;
	a->s->max_memory_mib = a->s->memory_mib;
	a->s->memory_set = true;
	return 0;
}

static int apply_max_duration(const struct json_value *v, const char *path, struct apply *a,
			      struct err *e)
{
	const char *s = text(v, path, e);

	return s ? parse_duration_s(path, s, &a->s->max_duration_s, e) : -1;
}

static int apply_idle_timeout(const struct json_value *v, const char *path, struct apply *a,
			      struct err *e)
{
	const char *s = text(v, path, e);

	return s ? parse_duration_s(path, s, &a->s->idle_timeout_s, e) : -1;
}

static int apply_rlimit(const struct json_value *v, const char *path, struct apply *a,
			struct err *e)
{
	struct {
		const char *resource;
		int64_t soft, hard;
	} in = { .hard = -1 };
	const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), resource, JSON_REQUIRED),
		FIELD_INT(__typeof__(in), soft, JSON_REQUIRED, 0, INT64_MAX),
		FIELD_INT(__typeof__(in), hard, JSON_OPTIONAL, 0, INT64_MAX),
	};
	struct spec_rlimit r;

	if (decode(v, path, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	r.resource = rlimit_number(in.resource);
	r.soft = (uint64_t)in.soft;
	r.hard = in.hard < 0 ? r.soft : (uint64_t)in.hard;
	if (r.resource < 0)
		return err_set(e, ERR_INVALID, "%s: unknown resource '%.32s'", path, in.resource);
	if (r.soft > r.hard)
		return err_set(e, ERR_INVALID, "%s: the soft limit is above the hard limit", path);
	for (size_t i = 0; i < a->s->n_rlimits; i++)
		if (a->s->rlimit[i].resource == r.resource)
			return err_set(e, ERR_INVALID, "%s: '%.32s' is limited twice", path,
				       in.resource);
	*LIST_ADD(a->s->rlimit, a->s->n_rlimits) = r;
	return 0;
}

static int apply_rlimits(const struct json_value *v, const char *path, struct apply *a,
			 struct err *e)
{
	return each(v, path, a, apply_rlimit, e);
}

/* --- runtime ------------------------------------------------------------------------------- */

static int apply_workdir(const struct json_value *v, const char *path, struct apply *a,
			 struct err *e)
{
	if (replace_text(v, path, &a->s->workdir, e) < 0)
		return -1;
	if (*a->s->workdir != '/')
		return err_set(e, ERR_INVALID, "%s: '%.128s' is not an absolute path", path,
			       a->s->workdir);
	return 0;
}

static int apply_shell(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	return replace_text(v, path, &a->s->shell, e) < 0 ? -1 : parse_shell(a->s->shell, e);
}

static int apply_user(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	return replace_text(v, path, &a->s->user, e) < 0 ? -1 : parse_user(a->s->user, e);
}

static int apply_hostname(const struct json_value *v, const char *path, struct apply *a,
			  struct err *e)
{
	return replace_text(v, path, &a->s->hostname, e) < 0 ? -1
							     : parse_hostname(a->s->hostname, e);
}

static int apply_security(const struct json_value *v, const char *path, struct apply *a,
			  struct err *e)
{
	const char *s = text(v, path, e);

	if (!s)
		return -1;
	if (strcmp(s, "default") != 0 && strcmp(s, "restricted") != 0)
		return err_set(e, ERR_INVALID, "%s: expected default or restricted, got '%.64s'",
			       path, s);
	a->s->restricted = *s == 'r';
	return 0;
}

static int apply_entrypoint(const struct json_value *v, const char *path, struct apply *a,
			    struct err *e)
{
	strv_done(&a->s->entrypoint);
	a->s->has_entrypoint = true;
	return texts(v, path, "", &a->s->entrypoint, e);
}

static int apply_cmd(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	strv_done(&a->s->cmd);
	return texts(v, path, "", &a->s->cmd, e);
}

/* Calls ONE with "key=value" of each member. */
static int each_pair(const struct json_value *v, const char *path, struct apply *a,
		     int (*one)(const char *pair, struct apply *, struct err *), struct err *e)
{
	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "%s: expected a map", path);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];
		AUTO_FREE char *at = xasprintf("%s.%s", path, m->key.p);
		AUTO_FREE char *pair = NULL;
		const char *s = text(&m->value, at, e);

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

static int one_env(const char *pair, struct apply *a, struct err *e)
{
	return spec_add_env(&a->s->env, &a->s->n_env, "--env", pair, e);
}

static int one_label(const char *pair, struct apply *a, struct err *e)
{
	return spec_add_label(a->s, pair, e);
}

static int apply_env(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	return each_pair(v, path, a, one_env, e);
}

static int apply_labels(const struct json_value *v, const char *path, struct apply *a,
			struct err *e)
{
	return each_pair(v, path, a, one_label, e);
}

static int apply_init(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	return not_yet(path, e);
}

/* --- mounts -------------------------------------------------------------------------------- */

struct mount_in {
	const char *bind, *named, *disk, *target, *create, *format, *fstype;
	const char *stat_virtualization, *host_permissions;
	bool readonly, noexec, nosuid, nodev;
	const struct json_value *tmpfs;
};

static const struct json_field mount_fields[] = {
	FIELD_STR(struct mount_in, bind, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, named, JSON_OPTIONAL),
	FIELD_VALUE(struct mount_in, tmpfs, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, disk, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, target, JSON_REQUIRED),
	FIELD_STR(struct mount_in, create, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, format, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, fstype, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, readonly, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, noexec, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, nosuid, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, nodev, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, stat_virtualization, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, host_permissions, JSON_OPTIONAL),
};

static int mount_tmpfs_size(const struct json_value *v, const char *path, struct spec_mount *m,
			    struct err *e)
{
	struct {
		const char *size;
	} in = { 0 };
	const struct json_field fields[] = { FIELD_STR(__typeof__(in), size, JSON_OPTIONAL) };
	AUTO_FREE char *at = xasprintf("%s.tmpfs", path);

	if (decode(v, at, fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	return in.size ? parse_size_mib(at, in.size, &m->size_mib, e) : 0;
}

/* Which of the options goes with which kind of mount. */
static int check_mount(const struct mount_in *in, const char *path, struct err *e)
{
	if (!!in->bind + !!in->named + !!in->tmpfs + !!in->disk != 1)
		return err_set(e, ERR_INVALID, "%s: give one of bind, named, tmpfs, disk", path);
	if ((in->stat_virtualization || in->host_permissions) && !in->bind && !in->named)
		return err_set(e, ERR_INVALID,
			       "%s: stat_virtualization and host_permissions go with bind or named",
			       path);
	if ((in->format || in->fstype) && !in->disk)
		return err_set(e, ERR_INVALID, "%s: format and fstype go with disk", path);
	if (in->create && !in->named)
		return err_set(e, ERR_INVALID, "%s: create goes with named", path);
	if (in->create && strcmp(in->create, "ensure-exists") != 0)
		return not_yet("create other than ensure-exists", e);
	if (in->fstype && !fstype_valid(in->fstype))
		return err_set(e, ERR_INVALID, "%s.fstype: '%.32s' is not a file system name", path,
			       in->fstype);
	return 0;
}

static int mount_words(const struct mount_in *in, const char *path, struct spec_mount *m,
		       struct err *e)
{
	static const char *const perms[] = { "private", "mirror", NULL };
	static const char *const formats[] = { "raw", "qcow2", "vmdk", NULL };
	int virt = STAT_VIRT_STRICT, perm = 0;

	if (in->stat_virtualization)
		virt = word_index(spec_stat_virt_names, in->stat_virtualization);
	if (in->host_permissions)
		perm = word_index(perms, in->host_permissions);
	if (virt < 0)
		return err_set(e, ERR_INVALID,
			       "%s.stat_virtualization: expected strict, relaxed or off", path);
	if (perm < 0)
		return err_set(e, ERR_INVALID, "%s.host_permissions: expected private or mirror",
			       path);
	if (in->format && word_index(formats, in->format) < 0)
		return err_set(e, ERR_INVALID, "%s.format: expected raw, qcow2 or vmdk", path);
	m->stat_virt = (enum spec_stat_virt)virt;
	m->stat_virt_set = in->stat_virtualization != NULL;
	m->host_perms_mirror = perm == 1;
	m->readonly = in->readonly;
	m->noexec = in->noexec;
	m->nosuid = in->nosuid;
	m->nodev = in->nodev;
	return 0;
}

static int fill_mount(const struct mount_in *in, const char *path, struct spec_mount *m,
		      struct err *e)
{
	if (check_mount(in, path, e) < 0 || mount_words(in, path, m, e) < 0)
		return -1;
	if (in->tmpfs) {
		m->kind = MOUNT_TMPFS;
		return mount_tmpfs_size(in->tmpfs, path, m, e);
	}
	if (in->named) {
		m->kind = MOUNT_NAMED;
		m->source = xstrdup(in->named);
		return spec_check_name(path, in->named, e);
	}
	m->kind = in->bind ? MOUNT_BIND : MOUNT_DISK;
	if (in->disk) {
		m->format = xstrdup(in->format ? in->format : disk_format(in->disk));
		m->fstype = in->fstype ? xstrdup(in->fstype) : NULL;
	}
	return path_absolute(in->bind ? in->bind : in->disk, &m->source, e);
}

static int apply_mount(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	struct mount_in in = { 0 };
	struct spec_mount m = { 0 };

	if (v->type == JSON_STRING) {
		if (spec_add_mount(a->s, MOUNT_FLAG_VOLUME, v->string.p, e) < 0)
			return err_wrap(e, "%s", path);
		return 0;
	}
	if (decode(v, path, mount_fields, ARRAY_SIZE(mount_fields), &in, e) < 0)
		return -1;
	if (fill_mount(&in, path, &m, e) < 0) {
		spec_mount_done(&m);
		return -1;
	}
	return spec_take_mount(a->s, path, in.target, &m, e);
}

static int apply_mounts(const struct json_value *v, const char *path, struct apply *a,
			struct err *e)
{
	return each(v, path, a, apply_mount, e);
}

/* --- patches ------------------------------------------------------------------------------- */

struct patch_in {
	const char *src, *dst, *path, *mode;
	bool replace;
};

static int decode_patch(const struct json_value *v, const char *path, bool copy,
			struct patch_in *in, struct err *e)
{
	static const struct json_field copy_fields[] = {
		FIELD_STR(struct patch_in, src, JSON_REQUIRED),
		FIELD_STR(struct patch_in, dst, JSON_REQUIRED),
		FIELD_STR(struct patch_in, mode, JSON_OPTIONAL),
		FIELD_BOOL(struct patch_in, replace, JSON_OPTIONAL),
	};
	static const struct json_field path_fields[] = {
		FIELD_STR(struct patch_in, path, JSON_REQUIRED),
		FIELD_STR(struct patch_in, mode, JSON_OPTIONAL),
	};

	if ((copy ? decode(v, path, copy_fields, ARRAY_SIZE(copy_fields), in, e)
		  : decode(v, path, path_fields, ARRAY_SIZE(path_fields), in, e)) < 0)
		return -1;
	if (in->mode || in->replace)
		return not_yet(in->mode ? "the mode of a patch" : "a patch that replaces", e);
	return 0;
}

static int apply_patch(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	static const char *const ops[] = { "copy_file", "copy_dir", "mkdir",  "remove", "text",
					   "file",      "symlink",  "append", NULL };
	AUTO_FREE char *at = NULL;
	struct patch_in in = { 0 };
	const char *op;
	int i;

	if (refuse_unknown(v, path, ops, e) < 0)
		return -1;
	if (v->object.n != 1)
		return err_set(e, ERR_INVALID, "%s: expected one operation", path);
	op = v->object.member[0].key.p;
	i = word_index(ops, op);
	at = xasprintf("%s.%s", path, op);
	if (i > 3)
		return not_yet(at, e);
	if (decode_patch(&v->object.member[0].value, at, i < 2, &in, e) < 0)
		return -1;
	return spec_put_patch(a->s, at, op, in.src, i < 2 ? in.dst : in.path, e);
}

static int apply_patches(const struct json_value *v, const char *path, struct apply *a,
			 struct err *e)
{
	return each(v, path, a, apply_patch, e);
}

/* By now each file's name has become its list of patches. */
static int apply_patch_files(const struct json_value *v, const char *path, struct apply *a,
			     struct err *e)
{
	return each(v, path, a, apply_patches, e);
}

/* --- network ------------------------------------------------------------------------------- */

static int apply_ports(const struct json_value *v, const char *path, struct apply *a, struct err *e)
{
	struct strv ports = { 0 };
	int r = texts(v, path, "", &ports, e);

	for (size_t i = 0; r == 0 && i < ports.n; i++)
		if ((r = spec_add_port(a->s, ports.v[i], e)) < 0)
			err_wrap(e, "%s[%zu]", path, i);
	strv_done(&ports);
	return r;
}

static int apply_dns(const struct json_value *v, struct apply *a, struct err *e)
{
	struct {
		bool rebind_protection;
		const struct json_value *nameservers;
		const char *query_timeout;
	} in = { .rebind_protection = true };
	const struct json_field fields[] = {
		FIELD_BOOL(__typeof__(in), rebind_protection, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), nameservers, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), query_timeout, JSON_OPTIONAL),
	};

	if (decode(v, "network.dns", fields, ARRAY_SIZE(fields), &in, e) < 0)
		return -1;
	a->x->no_rebind_protection = !in.rebind_protection;
	if (in.nameservers &&
	    texts(in.nameservers, "network.dns.nameservers", "", &a->x->nameservers, e) < 0)
		return -1;
	return in.query_timeout ? parse_duration_ms("network.dns.query_timeout", in.query_timeout,
						    &a->x->query_timeout_ms, e)
				: 0;
}

struct net_in {
	const char *policy;
	const struct json_value *allow, *deny, *ports, *dns, *tls;
	bool trust_host_cas;
	int64_t max_connections;
};

static const struct json_field net_fields[] = {
	FIELD_STR(struct net_in, policy, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, allow, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, deny, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, ports, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, dns, JSON_OPTIONAL),
	FIELD_VALUE(struct net_in, tls, JSON_OPTIONAL),
	FIELD_BOOL(struct net_in, trust_host_cas, JSON_OPTIONAL),
	FIELD_INT(struct net_in, max_connections, JSON_OPTIONAL, 1, UINT32_MAX),
};

static int apply_preset(const char *word, struct apply *a, struct err *e)
{
	static const char *const presets[] = { "none", "public", "open", NULL };
	static const char *const nets[] = { "none", "public", "all" };
	int i = word_index(presets, word);

	if (i < 0)
		return err_set(e, ERR_INVALID,
			       "network: expected none, public or open, got '%.64s'", word);
	a->x->net = xstrdup(nets[i]);
	return 0;
}

static int apply_network(const struct json_value *v, const char *path, struct apply *a,
			 struct err *e)
{
	struct net_in in = { 0 };

	if (decode(v, path, net_fields, ARRAY_SIZE(net_fields), &in, e) < 0)
		return -1;
	if (in.tls)
		return not_yet("network.tls", e);
	if ((in.policy && apply_preset(in.policy, a, e) < 0) ||
	    (in.deny && texts(in.deny, "network.deny", "deny@", &a->x->net_rules, e) < 0) ||
	    (in.allow && texts(in.allow, "network.allow", "allow@", &a->x->net_rules, e) < 0) ||
	    (in.ports && apply_ports(in.ports, "network.ports", a, e) < 0) ||
	    (in.dns && apply_dns(in.dns, a, e) < 0))
		return -1;
	a->x->net_allow_list = in.allow && in.allow->array.n > 0;
	a->x->trust_host_cas = in.trust_host_cas;
	if (in.max_connections)
		a->s->max_connections = (uint32_t)in.max_connections;
	return 0;
}

static int apply_secrets(const struct json_value *v, const char *path, struct apply *a,
			 struct err *e)
{
	return not_yet(path, e);
}

/* --- scripts ------------------------------------------------------------------------------- */

static int apply_script(const struct json_member *m, const char *path, struct apply *a,
			struct err *e)
{
	AUTO_BUF body = BUF_INIT(SCRIPT_MAX_BYTES);
	const char *s = text(&m->value, path, e);

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

static int apply_scripts(const struct json_value *v, const char *path, struct apply *a,
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
	unsigned scopes; /* besides the root */
	int (*apply)(const struct json_value *v, const char *path, struct apply *a, struct err *e);
} keys[] = {
	// clang-format off
	{ "image",        0,                 apply_image },
	{ "pull_policy",  0,                 apply_pull_policy },
	{ "registry",     0,                 apply_registry },
	{ "cpus",         IN(CONF_RESOURCE), apply_cpus },
	{ "memory",       IN(CONF_RESOURCE), apply_memory },
	{ "max_duration", IN(CONF_RESOURCE), apply_max_duration },
	{ "idle_timeout", IN(CONF_RESOURCE), apply_idle_timeout },
	{ "rlimits",      IN(CONF_RESOURCE), apply_rlimits },
	{ "workdir",      IN(CONF_RUNTIME),  apply_workdir },
	{ "shell",        IN(CONF_RUNTIME),  apply_shell },
	{ "user",         IN(CONF_RUNTIME),  apply_user },
	{ "hostname",     IN(CONF_RUNTIME),  apply_hostname },
	{ "security",     IN(CONF_RUNTIME),  apply_security },
	{ "entrypoint",   IN(CONF_RUNTIME),  apply_entrypoint },
	{ "cmd",          IN(CONF_RUNTIME),  apply_cmd },
	{ "env",          IN(CONF_RUNTIME),  apply_env },
	{ "labels",       IN(CONF_RUNTIME),  apply_labels },
	{ "init",         IN(CONF_RUNTIME),  apply_init },
	{ "mounts",       IN(CONF_FS),       apply_mounts },
	{ "patch_files",  IN(CONF_FS),       apply_patch_files },
	{ "patches",      IN(CONF_FS),       apply_patches },
	{ "network",      0,                 apply_network },
	{ "secrets",      0,                 apply_secrets },
	{ "scripts",      0,                 apply_scripts },
	{ "ports",        0,                 apply_ports },
	// clang-format on
};

int conf_check_keys(const struct json_value *v, enum conf_scope scope, struct err *e)
{
	const char *known[ARRAY_SIZE(keys) + 1] = { 0 };
	size_t n = 0;

	if (v->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "expected a map");
	if (scope == CONF_SECRET || scope == CONF_SCRIPT)
		return 0; /* names of the user's choice */
	if (scope == CONF_NET)
		for (size_t i = 0; i < ARRAY_SIZE(net_fields); i++)
			known[n++] = net_fields[i].key;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (scope == CONF_ROOT || (keys[i].scopes & IN(scope)))
			known[n++] = keys[i].name;
	return refuse_unknown(v, "", known, e);
}

int conf_apply_value(const struct json_value *v, const char *shell, struct spec *s,
		     struct conf_extra *x, struct err *e)
{
	struct apply a = { .s = s, .x = x, .shell = shell };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct json_value *m = json_get(v, keys[i].name);

		if (m && m->type != JSON_NULL && keys[i].apply(m, keys[i].name, &a, e) < 0)
			return -1;
	}
	return 0;
}
