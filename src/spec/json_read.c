/*
 * Reads a spec from JSON: the object `config` of a record, or the same object in a message.
 *
 * Fields are decoded by tables, and then checked like the values of flags. So a damaged record
 * cannot put a value into a spec that no command line could put there. The parameter PATH is the
 * path of the member that is read, for the texts of errors.
 */
#include "spec/spec.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "spec/cpus.h"
#include "spec/grammar.h"
#include "spec/list.h"
#include "spec/root_disk.h"
#include "spec/words.h"

/* limit for one base64 string; the longest strings are scripts of 1 MiB */
#define BYTES_MAX (4u << 20)
/* limit for the part of `network` that policy/ reads, such as rules; a thousand rules are about
 * 100 KiB */
#define NET_EXTRA_MAX_BYTES (1u << 20)
#define SECONDS_MAX ((int64_t)1 << 33) /* larger than the longest duration that a flag accepts */

static int bad(struct err *e, const char *path, const char *why)
{
	return err_set(e, ERR_INVALID, "%s: %s", path, why);
}

static int read_base64(const struct json_value *v, const char *path, char **ret, struct err *e)
{
	AUTO_BUF b = BUF_INIT(BYTES_MAX);

	if (v->type != JSON_STRING || base64_decode(&b, v->string.p, v->string.n) < 0 ||
	    memchr(buf_str(&b), 0, b.n))
		return bad(e, path, "expected base64 of a string");
	*ret = buf_take(&b);
	return 0;
}

static int read_text(const struct json_value *v, const char *path, char **ret, struct err *e)
{
	if (v->type != JSON_STRING || memchr(v->string.p, 0, v->string.n))
		return bad(e, path, "expected a string without NUL");
	*ret = xstrdup(v->string.p);
	return 0;
}

/* Reads KEY_base64 if it exists, else KEY. *RET is NULL if both are absent or null. */
static int read_bytes(const struct json_value *o, const char *path, const char *key, char **ret,
		      struct err *e)
{
	AUTO_FREE char *exact = xasprintf("%s_base64", key);
	AUTO_FREE char *at = xasprintf("%s.%s", path, key);
	const struct json_value *v = json_get(o, exact);

	*ret = NULL;
	if (v)
		return read_base64(v, at, ret, e);
	v = json_get(o, key);
	return v && v->type != JSON_NULL ? read_text(v, at, ret, e) : 0;
}

static int read_strv(const struct json_value *o, const char *key, struct strv *ret, struct err *e)
{
	AUTO_FREE char *exact = xasprintf("%s_base64", key);
	const struct json_value *b64 = json_get(o, exact), *v = b64 ? b64 : json_get(o, key);

	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type != JSON_ARRAY)
		return bad(e, key, "expected an array of strings");
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *s = NULL;

		if ((b64 ? read_base64 : read_text)(&v->array.item[i], key, &s, e) < 0)
			return -1;
		strv_add(ret, s);
	}
	return 0;
}

static int read_word(const char *path, const char *const *words, const char *word, int *ret,
		     struct err *e)
{
	*ret = word_index(words, word);
	return *ret < 0 ? err_set(e, ERR_INVALID, "%s: unknown value '%.64s'", path, word) : 0;
}

/* Calls ONE for each item of the array at KEY. A missing array has no items. */
static int each(const struct json_value *o, const char *key, struct spec *s,
		int (*one)(const struct json_value *, const char *, struct spec *, struct err *),
		struct err *e)
{
	const struct json_value *v = json_get(o, key);

	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type != JSON_ARRAY)
		return bad(e, key, "expected an array");
	for (size_t i = 0; i < v->array.n; i++) {
		AUTO_FREE char *path = xasprintf("%s[%zu]", key, i);

		if (v->array.item[i].type != JSON_OBJECT)
			return bad(e, path, "expected an object");
		if (one(&v->array.item[i], path, s, e) < 0)
			return -1;
	}
	return 0;
}

static int read_env(const struct json_value *v, const char *path, struct spec *s, struct err *e)
{
	AUTO_FREE char *key = NULL;
	AUTO_FREE char *value = NULL;

	if (read_bytes(v, path, "key", &key, e) < 0 || read_bytes(v, path, "value", &value, e) < 0)
		return -1;
	if (!key || !*key || strchr(key, '=') || !value)
		return bad(e, path, "expected a key without '=' and a value");
	spec_set_env(&s->env, &s->n_env, key, strlen(key), value);
	return 0;
}

static int read_labels(const struct json_value *v, struct spec *s, struct err *e)
{
	if (!v)
		return 0;
	if (v->type != JSON_OBJECT)
		return bad(e, "labels", "expected an object");
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];
		AUTO_FREE char *value = NULL;

		if (m->key.n == 0 || memchr(m->key.p, 0, m->key.n) || strchr(m->key.p, '='))
			return bad(e, "labels", "a key is empty or holds '=' or NUL");
		if (read_text(&m->value, "labels", &value, e) < 0)
			return -1;
		spec_set_env(&s->label, &s->n_labels, m->key.p, m->key.n, value);
	}
	return 0;
}

int root_disk_read_json(const struct json_value *v, const char *path, struct spec_root_disk *d,
			struct err *e)
{
	struct {
		const char *kind, *format, *fstype, *clone;
		int64_t size_mib;
		bool on_disk;
		const struct json_value *identity;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), kind, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), format, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), fstype, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), clone, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), size_mib, JSON_OPTIONAL, 0, SPEC_SIZE_MAX_MIB),
		FIELD_BOOL(__typeof__(in), on_disk, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), identity, JSON_OPTIONAL),
	};
	int kind;

	if (json_decode(v, path, fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    read_word(path, spec_root_disk_names, in.kind, &kind, e) < 0 ||
	    identity_read_json(in.identity, path, &d->identity, e) < 0 ||
	    read_bytes(v, path, "path", &d->path, e) < 0)
		return -1;
	if (kind == ROOT_DISK_PATH && (!d->path || *d->path != '/'))
		return bad(e, path, "expected an absolute path");
	d->kind = (enum spec_root_disk_kind)kind;
	d->size_mib = (uint64_t)in.size_mib;
	d->on_disk = in.on_disk;
	d->format = in.format ? xstrdup(in.format) : NULL;
	d->fstype = in.fstype ? xstrdup(in.fstype) : NULL;
	d->clone = in.clone ? xstrdup(in.clone) : NULL;
	return 0;
}

static int read_image(const struct json_value *v, struct spec_image *i, struct err *e)
{
	static const char *const kinds[] = { "Host", "Bind", "DiskImage", "Oci", NULL };
	const struct json_value *o, *disk;
	int kind;

	if (v->type != JSON_OBJECT || v->object.n != 1 ||
	    v->object.member[0].value.type != JSON_OBJECT)
		return bad(e, "image", "expected an object with one member");
	if (read_word("image", kinds, v->object.member[0].key.p, &kind, e) < 0)
		return -1;
	o = &v->object.member[0].value;
	i->kind = (enum spec_image_kind)kind;
	if (i->kind == IMAGE_HOST)
		i->reference = xstrdup("host");
	else if (read_bytes(o, "image", i->kind == IMAGE_OCI ? "reference" : "path", &i->reference,
			    e) < 0)
		return -1;
	if (!i->reference || !*i->reference)
		return bad(e, "image", "the reference is missing");
	if ((i->kind == IMAGE_DIR || i->kind == IMAGE_DISK) && *i->reference != '/')
		return bad(e, "image.path", "expected an absolute path");
	if (identity_read_json(json_get(o, "identity"), "image.identity", &i->identity, e) < 0)
		return -1;
	i->cow = i->kind == IMAGE_DIR && json_get_bool(o, "cow", false);
	disk = json_get(o, "root_disk");
	return disk ? root_disk_read_json(disk, "image.root_disk", &i->root_disk, e) : 0;
}

struct mount_in {
	const char *type, *format, *fstype, *host_permissions, *kind, *name, *stat_virtualization;
	const char *want;
	int64_t quota_mib, size_mib;
	bool follow_root_symlinks, stat_virtualization_set;
	const struct json_value *identity, *options, *owner;
};

static const struct json_field mount_fields[] = {
	FIELD_STR(struct mount_in, type, JSON_REQUIRED),
	FIELD_STR(struct mount_in, format, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, fstype, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, host_permissions, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, kind, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, name, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, stat_virtualization, JSON_OPTIONAL),
	FIELD_STR(struct mount_in, want, JSON_OPTIONAL),
	FIELD_INT(struct mount_in, quota_mib, JSON_OPTIONAL, 0, SPEC_SIZE_MAX_MIB),
	FIELD_INT(struct mount_in, size_mib, JSON_OPTIONAL, 0, SPEC_SIZE_MAX_MIB),
	FIELD_BOOL(struct mount_in, follow_root_symlinks, JSON_OPTIONAL),
	FIELD_BOOL(struct mount_in, stat_virtualization_set, JSON_OPTIONAL),
	FIELD_VALUE(struct mount_in, identity, JSON_OPTIONAL),
	FIELD_VALUE(struct mount_in, options, JSON_OPTIONAL),
	FIELD_VALUE(struct mount_in, owner, JSON_OPTIONAL),
};

static int read_mount_guest(const struct json_value *v, const char *path, const struct spec *s,
			    struct spec_mount *m, struct err *e)
{
	AUTO_FREE char *normal = NULL;

	if (read_bytes(v, path, "guest", &m->guest, e) < 0)
		return -1;
	normal = m->guest ? path_normalise(m->guest) : NULL;
	if (!normal || strcmp(normal, m->guest) != 0 || strcmp(normal, "/") == 0)
		return bad(e, path, "guest must be an absolute path other than '/'");
	for (size_t i = 0; i < s->n_mounts; i++)
		if (strcmp(s->mount[i].guest, m->guest) == 0)
			return bad(e, path, "guest is mounted twice");
	return 0;
}

static int read_mount_source(const struct json_value *v, const char *path, const char *name,
			     struct spec_mount *m, struct err *e)
{
	if (m->kind == MOUNT_TMPFS)
		return 0;
	if (m->kind == MOUNT_NAMED) {
		m->source = xstrdup(name ? name : "");
		return spec_check_name(path, m->source, e);
	}
	if (read_bytes(v, path, "host", &m->source, e) < 0)
		return -1;
	return m->source && *m->source == '/' ? 0 : bad(e, path, "host must be an absolute path");
}

static int read_mount_owner(const struct mount_in *in, const char *path, struct spec_mount *m,
			    struct err *e)
{
	int64_t uid = json_get_int(in->owner, "uid", -1), gid = json_get_int(in->owner, "gid", -1);

	if (!in->owner)
		return 0;
	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return bad(e, path, "owner needs uid and gid");
	m->has_owner = true;
	m->uid = (uint32_t)uid;
	m->gid = (uint32_t)gid;
	return 0;
}

static int fill_mount(const struct json_value *v, const char *path, const struct spec *s,
		      struct spec_mount *m, struct err *e)
{
	struct mount_in in = { .stat_virtualization = "strict", .want = "any" };
	int kind, virt, want;

	if (json_decode(v, path, mount_fields, ARRAY_SIZE(mount_fields), false, &in, e) < 0 ||
	    read_word(path, spec_mount_names, in.type, &kind, e) < 0 ||
	    read_word(path, spec_stat_virt_names, in.stat_virtualization, &virt, e) < 0 ||
	    read_word(path, spec_want_names, in.want, &want, e) < 0)
		return -1;
	m->kind = (enum spec_mount_kind)kind;
	m->stat_virt = (enum spec_stat_virt)virt;
	m->stat_virt_set = in.stat_virtualization_set;
	m->want = (enum spec_want)want;
	m->readonly = json_get_bool(in.options, "readonly", false);
	m->noexec = json_get_bool(in.options, "noexec", false);
	m->nosuid = json_get_bool(in.options, "nosuid", false);
	m->nodev = json_get_bool(in.options, "nodev", false);
	m->quota_mib = (uint64_t)in.quota_mib;
	m->size_mib = (uint64_t)in.size_mib;
	m->host_perms_mirror = in.host_permissions && strcmp(in.host_permissions, "mirror") == 0;
	m->follow_root_symlinks = in.follow_root_symlinks;
	m->kind_disk = in.kind && strcmp(in.kind, "disk") == 0;
	m->format = in.format ? xstrdup(in.format) : NULL;
	m->fstype = in.fstype ? xstrdup(in.fstype) : NULL;
	if (read_mount_guest(v, path, s, m, e) < 0 ||
	    read_mount_source(v, path, in.name, m, e) < 0 ||
	    identity_read_json(in.identity, path, &m->identity, e) < 0)
		return -1;
	return read_mount_owner(&in, path, m, e);
}

static int read_mount(const struct json_value *v, const char *path, struct spec *s, struct err *e)
{
	struct spec_mount m = { 0 };

	if (s->n_mounts >= SPEC_MOUNTS_MAX)
		return bad(e, path, "too many mounts");
	if (fill_mount(v, path, s, &m, e) < 0) {
		spec_mount_done(&m);
		return -1;
	}
	*LIST_ADD(s->mount, s->n_mounts) = m;
	return 0;
}

static int read_writable(const struct json_value *v, struct spec *s, struct err *e)
{
	struct strv paths = { 0 };
	int r = read_strv(v, "writable", &paths, e);

	for (size_t i = 0; r == 0 && i < paths.n; i++)
		r = spec_add_writable(s, "writable", paths.v[i], e);
	strv_done(&paths);
	return r;
}

static int read_port(const struct json_value *v, const char *path, struct spec *s, struct err *e)
{
	static const char *const protocols[] = { "tcp", "udp", NULL };
	struct {
		const char *host_bind, *protocol;
		int64_t guest_port, host_port;
	} in = { .protocol = "tcp" };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), host_bind, JSON_REQUIRED),
		FIELD_STR(__typeof__(in), protocol, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), guest_port, JSON_REQUIRED, 1, UINT16_MAX),
		FIELD_INT(__typeof__(in), host_port, JSON_REQUIRED, 0, UINT16_MAX),
	};
	struct in6_addr a;
	struct spec_port *p;
	int udp;

	if (json_decode(v, path, fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    read_word(path, protocols, in.protocol, &udp, e) < 0)
		return -1;
	if (inet_pton(AF_INET, in.host_bind, &a) != 1 && inet_pton(AF_INET6, in.host_bind, &a) != 1)
		return bad(e, path, "host_bind is not an address");
	p = LIST_ADD(s->port, s->n_ports);
	p->bind = xstrdup(in.host_bind);
	p->host_port = (uint16_t)in.host_port;
	p->guest_port = (uint16_t)in.guest_port;
	p->udp = udp;
	return 0;
}

/* Fills s->net_extra_doc, which policy/ reads. This document gets all members of `network` except
 * those that other functions of this file read. */
static int read_net_extra(const struct json_value *v, struct spec *s, struct err *e)
{
	char room[1024];
	AUTO_BUF b = BUF_IN(room, NET_EXTRA_MAX_BYTES);
	struct json_writer w;
	bool any = false;

	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];

		if (str_eq(m->key, "enabled") || str_eq(m->key, "max_connections") ||
		    str_eq(m->key, "ports") || str_eq(m->key, "trust_host_cas"))
			continue;
		if (str_eq(m->key, "strict") && m->value.type == JSON_BOOL && !m->value.boolean)
			continue; /* leave `strict` out if it is false, which is the default */
		if (memchr(m->key.p, 0, m->key.n))
			return bad(e, "network", "a key holds NUL");
		any = true;
		json_key(&w, m->key.p);
		json_value_copy(&w, &m->value);
	}
	json_end_object(&w);
	if (buf_failed(&b))
		return bad(e, "network", "too large");
	return any ? json_parse(b.p, b.n, &s->net_extra_doc, e) : 0;
}

static int read_network(const struct json_value *v, struct spec *s, struct err *e)
{
	struct {
		bool enabled, trust_host_cas;
		int64_t max_connections;
	} in = { .enabled = true, .max_connections = SPEC_DEFAULT_MAX_CONNECTIONS };
	static const struct json_field fields[] = {
		FIELD_BOOL(__typeof__(in), enabled, JSON_OPTIONAL),
		FIELD_BOOL(__typeof__(in), trust_host_cas, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), max_connections, JSON_OPTIONAL, 0, UINT32_MAX),
	};

	if (!v)
		return 0;
	if (json_decode(v, "network", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	s->net_enabled = in.enabled;
	s->trust_host_cas = in.trust_host_cas;
	s->max_connections = (uint32_t)in.max_connections;
	if (each(v, "ports", s, read_port, e) < 0)
		return err_wrap(e, "network");
	return read_net_extra(v, s, e);
}

static int read_patch(const struct json_value *v, const char *path, struct spec *s, struct err *e)
{
	static const char *const ops[] = {
		"copy", "copy_file", "copy_dir", "mkdir", "remove", NULL
	};
	struct spec_patch *p = LIST_ADD(s->patch, s->n_patches);
	const char *op = json_get_str(v, "op", "");
	AUTO_FREE char *normal = NULL;
	int i;

	if (read_word(path, ops, op, &i, e) < 0 || read_bytes(v, path, "path", &p->path, e) < 0 ||
	    read_bytes(v, path, "source", &p->source, e) < 0)
		return -1;
	p->op = xstrdup(op);
	normal = p->path ? path_normalise(p->path) : NULL;
	if (!normal || strcmp(normal, p->path) != 0 || strcmp(normal, "/") == 0)
		return bad(e, path, "path must be absolute and not '/'");
	if (p->source ? *p->source != '/' : i <= 2)
		return bad(e, path, "source must be absolute");
	return 0;
}

static int read_resources(const struct json_value *v, struct spec *s, struct err *e)
{
	struct {
		const char *cpu_placement, *placement_profile, *thp;
		int64_t memory_mib, max_memory_mib, pids_limit;
		const struct json_value *cpus, *max_cpus;
		bool soft_limits;
	} in = { .memory_mib = (int64_t)s->memory_mib, .pids_limit = SPEC_DEFAULT_PIDS };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), cpu_placement, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), placement_profile, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), thp, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), cpus, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), max_cpus, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), memory_mib, JSON_OPTIONAL, 1, SPEC_SIZE_MAX_MIB),
		FIELD_INT(__typeof__(in), max_memory_mib, JSON_OPTIONAL, 1, SPEC_SIZE_MAX_MIB),
		FIELD_INT(__typeof__(in), pids_limit, JSON_OPTIONAL, 1, SPEC_PIDS_MAX),
		FIELD_BOOL(__typeof__(in), soft_limits, JSON_OPTIONAL),
	};

	if (!v)
		return 0;
	if (json_decode(v, "resources", fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    cpus_read_json(in.cpus, "resources.cpus", &s->cpu_milli, e) < 0)
		return -1;
	s->max_cpu_milli = s->cpu_milli;
	if (cpus_read_json(in.max_cpus, "resources.max_cpus", &s->max_cpu_milli, e) < 0)
		return -1;
	s->soft_limits = in.soft_limits;
	s->memory_mib = (uint64_t)in.memory_mib;
	s->max_memory_mib = (uint64_t)(in.max_memory_mib ? in.max_memory_mib : in.memory_mib);
	s->pids_limit = (uint64_t)in.pids_limit;
	s->cpu_placement = in.cpu_placement ? xstrdup(in.cpu_placement) : NULL;
	s->placement_profile = in.placement_profile ? xstrdup(in.placement_profile) : NULL;
	s->thp = in.thp ? xstrdup(in.thp) : NULL;
	return 0;
}

static int read_rlimit(const struct json_value *v, const char *path, struct spec *s, struct err *e)
{
	struct {
		const char *resource;
		int64_t soft, hard;
	} in = { .soft = -1, .hard = -1 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), resource, JSON_REQUIRED),
		FIELD_INT(__typeof__(in), soft, JSON_OPTIONAL, 0, INT64_MAX),
		FIELD_INT(__typeof__(in), hard, JSON_OPTIONAL, 0, INT64_MAX),
	};
	struct spec_rlimit r;

	if (json_decode(v, path, fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	r.resource = rlimit_number(in.resource);
	/* a limit that is missing or null stays -1, which becomes UINT64_MAX: unlimited */
	r.soft = (uint64_t)in.soft;
	r.hard = (uint64_t)in.hard;
	if (r.resource < 0 || r.soft > r.hard)
		return bad(e, path, "unknown resource, or soft above hard");
	*LIST_ADD(s->rlimit, s->n_rlimits) = r;
	return 0;
}

static int read_scripts(const struct json_value *runtime, struct spec *s, struct err *e)
{
	const struct json_value *b64 = json_get(runtime, "scripts_base64");
	const struct json_value *v = b64 ? b64 : json_get(runtime, "scripts");

	if (!v || v->type == JSON_NULL)
		return 0;
	if (v->type != JSON_OBJECT)
		return bad(e, "runtime.scripts", "expected an object");
	for (size_t i = 0; i < v->object.n; i++) {
		const struct json_member *m = &v->object.member[i];
		char *body;

		if (memchr(m->key.p, 0, m->key.n))
			return bad(e, "runtime.scripts", "a name holds NUL");
		if (spec_check_name("runtime.scripts", m->key.p, e) < 0 ||
		    (b64 ? read_base64 : read_text)(&m->value, "runtime.scripts", &body, e) < 0 ||
		    spec_set_script(s, "runtime.scripts", m->key.p, body, e) < 0)
			return -1;
	}
	return 0;
}

/* Checks the shell, the user and the host name like the values of flags. */
static int check_runtime(const struct spec *s, struct err *e)
{
	if ((s->shell && parse_shell(s->shell, e) < 0) || (s->user && parse_user(s->user, e) < 0) ||
	    (s->hostname && parse_hostname(s->hostname, e) < 0))
		return err_wrap(e, "runtime");
	return 0;
}

static int read_owner(const struct json_value *v, struct spec_owner *o, struct err *e)
{
	struct {
		int64_t uid, gid;
	} in;
	static const struct json_field fields[] = {
		FIELD_INT(__typeof__(in), uid, JSON_REQUIRED, 0, SPEC_OWNER_MAX),
		FIELD_INT(__typeof__(in), gid, JSON_REQUIRED, 0, SPEC_OWNER_MAX),
	};

	if (!v)
		return 0;
	if (json_decode(v, "runtime.owner", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	*o = (struct spec_owner){ true, (uint32_t)in.uid, (uint32_t)in.gid };
	return 0;
}

static int read_runtime(const struct json_value *v, struct spec *s, struct err *e)
{
	struct {
		const char *hostname, *log_level, *stop_signal;
		int64_t metrics_sample_interval_ms;
		bool disable_metrics_sample, log_disabled, shell_fallback;
		const struct json_value *entrypoint, *owner;
	} in = { .metrics_sample_interval_ms = SPEC_DEFAULT_METRICS_INTERVAL_MS };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), hostname, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), log_level, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), stop_signal, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), metrics_sample_interval_ms, JSON_OPTIONAL, 0, UINT32_MAX),
		FIELD_BOOL(__typeof__(in), disable_metrics_sample, JSON_OPTIONAL),
		FIELD_BOOL(__typeof__(in), log_disabled, JSON_OPTIONAL),
		FIELD_BOOL(__typeof__(in), shell_fallback, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), entrypoint, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), owner, JSON_OPTIONAL),
	};

	if (!v)
		return 0;
	if (json_decode(v, "runtime", fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    read_owner(in.owner, &s->owner, e) < 0 || read_strv(v, "cmd", &s->cmd, e) < 0 ||
	    read_strv(v, "entrypoint", &s->entrypoint, e) < 0 || read_scripts(v, s, e) < 0 ||
	    read_bytes(v, "runtime", "shell", &s->shell, e) < 0 ||
	    read_bytes(v, "runtime", "user", &s->user, e) < 0 ||
	    read_bytes(v, "runtime", "workdir", &s->workdir, e) < 0)
		return -1;
	s->has_entrypoint = in.entrypoint != NULL;
	s->hostname = in.hostname ? xstrdup(in.hostname) : NULL;
	s->log_level = in.log_level ? xstrdup(in.log_level) : NULL;
	s->stop_signal = in.stop_signal ? xstrdup(in.stop_signal) : NULL;
	s->metrics_interval_ms = (uint32_t)in.metrics_sample_interval_ms;
	s->metrics_disabled = in.disable_metrics_sample;
	s->log_disabled = in.log_disabled;
	s->shell_fallback = in.shell_fallback;
	return check_runtime(s, e);
}

static int read_lifecycle(const struct json_value *v, struct spec *s, struct err *e)
{
	struct {
		bool ephemeral;
		int64_t idle_timeout_secs, max_duration_secs;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_BOOL(__typeof__(in), ephemeral, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), idle_timeout_secs, JSON_OPTIONAL, 0, SECONDS_MAX),
		FIELD_INT(__typeof__(in), max_duration_secs, JSON_OPTIONAL, 0, SECONDS_MAX),
	};

	if (!v)
		return 0;
	if (json_decode(v, "lifecycle", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	s->ephemeral = in.ephemeral;
	s->idle_timeout_s = (uint64_t)in.idle_timeout_secs;
	s->max_duration_s = (uint64_t)in.max_duration_secs;
	return 0;
}

struct root_in {
	const char *deployment_profile, *engine, *manifest_digest, *name, *pull_policy;
	const char *security_profile;
	bool read_only, seccomp_filters;
	const struct json_value *explicit, *image, *labels, *lifecycle, *network, *resources;
	const struct json_value *runtime;
};

static const struct json_field root_fields[] = {
	FIELD_STR(struct root_in, deployment_profile, JSON_OPTIONAL),
	FIELD_STR(struct root_in, engine, JSON_OPTIONAL),
	FIELD_STR(struct root_in, manifest_digest, JSON_OPTIONAL),
	FIELD_STR(struct root_in, name, JSON_OPTIONAL),
	FIELD_STR(struct root_in, pull_policy, JSON_OPTIONAL),
	FIELD_BOOL(struct root_in, read_only, JSON_OPTIONAL),
	FIELD_BOOL(struct root_in, seccomp_filters, JSON_OPTIONAL),
	FIELD_STR(struct root_in, security_profile, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, explicit, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, image, JSON_REQUIRED),
	FIELD_VALUE(struct root_in, labels, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, lifecycle, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, network, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, resources, JSON_OPTIONAL),
	FIELD_VALUE(struct root_in, runtime, JSON_OPTIONAL),
};

static int read_root(const struct json_value *v, const struct root_in *in, struct spec *s,
		     struct err *e)
{
	static const char *const tenancies[] = { "single_tenant", "multi_tenant", NULL };
	static const char *const profiles[] = { "default", "restricted", NULL };
	int engine, pull, tenancy, profile;

	if (read_word("deployment_profile", tenancies, in->deployment_profile, &tenancy, e) < 0 ||
	    read_word("security_profile", profiles, in->security_profile, &profile, e) < 0 ||
	    read_word("engine", spec_engine_words, in->engine, &engine, e) < 0 ||
	    read_word("pull_policy", spec_pull_names, in->pull_policy, &pull, e) < 0 ||
	    (in->name && spec_check_name("name", in->name, e) < 0) ||
	    read_image(in->image, &s->image, e) < 0 || read_labels(in->labels, s, e) < 0 ||
	    read_lifecycle(in->lifecycle, s, e) < 0 || read_network(in->network, s, e) < 0 ||
	    read_resources(in->resources, s, e) < 0 || read_runtime(in->runtime, s, e) < 0 ||
	    each(v, "env", s, read_env, e) < 0 || each(v, "mounts", s, read_mount, e) < 0 ||
	    each(v, "patches", s, read_patch, e) < 0 || each(v, "rlimits", s, read_rlimit, e) < 0 ||
	    read_strv(v, "image_env", &s->image_env, e) < 0 || read_writable(v, s, e) < 0)
		return -1;
	s->engine = (enum spec_engine)engine;
	s->pull = (enum spec_pull)pull;
	s->name = in->name ? xstrdup(in->name) : NULL;
	s->image.manifest_digest = in->manifest_digest ? xstrdup(in->manifest_digest) : NULL;
	s->multi_tenant = tenancy;
	s->restricted = profile;
	s->own_filters = in->seccomp_filters;
	s->read_only = in->read_only;
	s->cpus_set = json_get_bool(in->explicit, "cpus", false);
	s->memory_set = json_get_bool(in->explicit, "memory", false);
	s->pids_set = json_get_bool(in->explicit, "pids_limit", false);
	s->image.root_disk.explicit = json_get_bool(in->explicit, "root_disk", false);
	s->image.root_disk.configured = json_get_bool(in->explicit, "root_disk_default", false);
	return 0;
}

int spec_read_json(const struct json_value *v, struct spec *s, struct err *e)
{
	struct root_in in = { .deployment_profile = "single_tenant",
			      .engine = "auto",
			      .pull_policy = "IfMissing",
			      .security_profile = "default" };

	spec_init(s);
	if (json_decode(v, "config", root_fields, ARRAY_SIZE(root_fields), false, &in, e) < 0)
		return -1;
	if (read_root(v, &in, s, e) < 0) {
		spec_done(s);
		spec_init(s);
		return err_wrap(e, "config");
	}
	return 0;
}
