/*
 * Writes a spec as the `config` object of `inspect`.
 *
 * The code writes keys in sorted order, and a test checks the order. A string that is not UTF-8 is
 * written twice. KEY has the string with replacement characters, and KEY_base64 has the exact
 * bytes. json_read.c prefers KEY_base64.
 */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "spec/cpus.h"
#include "spec/grammar.h"
#include "spec/words.h"

/* limit for one base64 string; the longest strings are scripts of 1 MiB */
#define BASE64_MAX_BYTES (4u << 20)

static void base64_str(struct json_writer *w, const char *s)
{
	AUTO_BUF b = BUF_INIT(BASE64_MAX_BYTES);

	base64_encode(&b, s, strlen(s));
	json_str(w, buf_str(&b));
}

/* Writes KEY and, for a string that JSON cannot hold, KEY_base64. */
static void key_bytes(struct json_writer *w, const char *key, const char *s)
{
	json_key_str(w, key, s);
	if (s && !utf8_valid(s, strlen(s))) {
		AUTO_FREE char *exact = xasprintf("%s_base64", key);

		json_key(w, exact);
		base64_str(w, s);
	}
}

static void key_strv(struct json_writer *w, const char *key, const struct strv *l)
{
	bool text = true;

	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < l->n; i++) {
		json_str(w, l->v[i]);
		text = text && utf8_valid(l->v[i], strlen(l->v[i]));
	}
	json_end_array(w);
	if (!text) {
		AUTO_FREE char *exact = xasprintf("%s_base64", key);

		json_key(w, exact);
		json_begin_array(w);
		for (size_t i = 0; i < l->n; i++)
			base64_str(w, l->v[i]);
		json_end_array(w);
	}
}

static void key_identity(struct json_writer *w, const struct identity *id)
{
	if (!id->known)
		return;
	json_key(w, "identity");
	identity_write_json(id, w);
}

/* Writes the number V. Writes null if V is 0, because 0 means "none". */
static void key_count(struct json_writer *w, const char *key, uint64_t v)
{
	json_key(w, key);
	if (v)
		json_uint(w, v);
	else
		json_null(w);
}

static void write_env(struct json_writer *w, const struct spec *s)
{
	json_key(w, "env");
	json_begin_array(w);
	for (size_t i = 0; i < s->n_env; i++) {
		json_begin_object(w);
		key_bytes(w, "key", s->env[i].key);
		key_bytes(w, "value", s->env[i].value);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_explicit(struct json_writer *w, const struct spec *s)
{
	json_key(w, "explicit");
	json_begin_object(w);
	json_key_bool(w, "cpus", s->cpus_set);
	json_key_bool(w, "memory", s->memory_set);
	json_key_bool(w, "pids_limit", s->pids_set);
	json_key_bool(w, "root_disk", s->image.root_disk.explicit);
	json_key_bool(w, "root_disk_default", s->image.root_disk.configured);
	json_end_object(w);
}

static void write_root_disk(struct json_writer *w, const struct spec_root_disk *d)
{
	uint64_t size = d->size_mib;

	if (!size && d->kind == ROOT_DISK_MANAGED)
		size = SPEC_DEFAULT_ROOT_DISK_MIB;
	json_key(w, "root_disk");
	json_begin_object(w);
	if (d->clone)
		json_key_str(w, "clone", d->clone);
	if (d->format)
		json_key_str(w, "format", d->format);
	if (d->fstype)
		json_key_str(w, "fstype", d->fstype);
	if (d->path)
		key_identity(w, &d->identity);
	json_key_str(w, "kind", spec_root_disk_names[d->kind]);
	if (d->on_disk)
		json_key_bool(w, "on_disk", true);
	if (d->path)
		key_bytes(w, "path", d->path);
	if (d->kind != ROOT_DISK_PATH)
		key_count(w, "size_mib", size);
	json_end_object(w);
}

static void write_image(struct json_writer *w, const struct spec_image *i)
{
	static const char *const kinds[] = { [IMAGE_HOST] = "Host",
					     [IMAGE_DIR] = "Bind",
					     [IMAGE_DISK] = "DiskImage",
					     [IMAGE_OCI] = "Oci" };
	bool layered = i->kind == IMAGE_DIR && !spec_image_in_place(i);

	json_key(w, "image");
	json_begin_object(w);
	json_key(w, kinds[i->kind]);
	json_begin_object(w);
	if (layered)
		json_key_bool(w, "cow", true);
	if (i->kind == IMAGE_DIR)
		json_key_bool(w, "follow_root_symlinks", false);
	if (i->kind == IMAGE_DIR || i->kind == IMAGE_DISK) {
		key_identity(w, &i->identity);
		key_bytes(w, "path", i->reference);
	}
	if (i->kind == IMAGE_OCI)
		json_key_str(w, "reference", i->reference);
	if (i->kind == IMAGE_OCI || i->root_disk.explicit || i->root_disk.on_disk ||
	    ((i->kind == IMAGE_HOST || layered) && i->root_disk.configured))
		write_root_disk(w, &i->root_disk);
	json_end_object(w);
	json_end_object(w);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct spec_env *)a)->key, ((const struct spec_env *)b)->key);
}

static void write_labels(struct json_writer *w, const struct spec *s)
{
	AUTO_FREE struct spec_env *sorted = xcalloc(s->n_labels + 1, sizeof(*sorted));

	for (size_t i = 0; i < s->n_labels; i++)
		sorted[i] = s->label[i];
	qsort(sorted, s->n_labels, sizeof(*sorted), by_key);
	json_key(w, "labels");
	json_begin_object(w);
	for (size_t i = 0; i < s->n_labels; i++)
		json_key_str(w, sorted[i].key, sorted[i].value);
	json_end_object(w);
}

static void write_mount_options(struct json_writer *w, const struct spec_mount *m)
{
	json_key(w, "options");
	json_begin_object(w);
	json_key_bool(w, "nodev", m->nodev);
	json_key_bool(w, "noexec", m->noexec);
	json_key_bool(w, "nosuid", m->nosuid);
	json_key_bool(w, "readonly", m->readonly);
	json_end_object(w);
	if (m->has_owner) {
		json_key(w, "owner");
		json_begin_object(w);
		json_key_int(w, "gid", m->gid);
		json_key_int(w, "uid", m->uid);
		json_end_object(w);
	}
}

void mount_write_json(struct json_writer *w, const struct spec_mount *m)
{
	bool files = m->kind == MOUNT_BIND || m->kind == MOUNT_NAMED;
	bool host = m->kind == MOUNT_BIND || m->kind == MOUNT_DISK;

	json_begin_object(w);
	if (files)
		json_key_bool(w, "follow_root_symlinks", m->follow_root_symlinks);
	if (m->kind == MOUNT_DISK) {
		json_key_str(w, "format", m->format);
		json_key_str(w, "fstype", m->fstype);
	}
	key_bytes(w, "guest", m->guest);
	if (host)
		key_bytes(w, "host", m->source);
	if (files)
		json_key_str(w, "host_permissions", m->host_perms_mirror ? "mirror" : "private");
	if (host)
		key_identity(w, &m->identity);
	if (m->kind == MOUNT_NAMED) {
		json_key_str(w, "kind", m->kind_disk ? "disk" : "dir");
		json_key_str(w, "name", m->source);
	}
	write_mount_options(w, m);
	if (files)
		key_count(w, "quota_mib", m->quota_mib);
	if (m->kind == MOUNT_TMPFS || m->kind == MOUNT_NAMED)
		key_count(w, "size_mib", m->size_mib);
	if (files) {
		json_key_str(w, "stat_virtualization", spec_stat_virt_names[m->stat_virt]);
		json_key_bool(w, "stat_virtualization_set", m->stat_virt_set);
	}
	json_key_str(w, "type", spec_mount_names[m->kind]);
	if (m->kind == MOUNT_BIND)
		json_key_str(w, "want", spec_want_names[m->want]);
	json_end_object(w);
}

void port_write_json(struct json_writer *w, const struct spec_port *p)
{
	json_begin_object(w);
	json_key_int(w, "guest_port", p->guest_port);
	json_key_str(w, "host_bind", p->bind);
	json_key_int(w, "host_port", p->host_port);
	json_key_str(w, "protocol", p->udp ? "udp" : "tcp");
	json_end_object(w);
}

static void write_ports(struct json_writer *w, const struct spec *s)
{
	json_begin_array(w);
	for (size_t i = 0; i < s->n_ports; i++)
		port_write_json(w, &s->port[i]);
	json_end_array(w);
}

/* One member of `network`. If the member comes from the document that policy/ wrote, `value` is the
 * member's value in this document. If the member comes from the spec, `value` is NULL. */
struct net_member {
	const char *key;
	const struct json_value *value;
};

static int by_net_key(const void *a, const void *b)
{
	return strcmp(((const struct net_member *)a)->key, ((const struct net_member *)b)->key);
}

static void write_own_net_member(struct json_writer *w, const char *key, const struct spec *s)
{
	if (strcmp(key, "enabled") == 0)
		json_bool(w, s->net_enabled);
	else if (strcmp(key, "max_connections") == 0)
		json_uint(w, s->max_connections);
	else if (strcmp(key, "ports") == 0)
		write_ports(w, s);
	else if (strcmp(key, "trust_host_cas") == 0)
		json_bool(w, s->trust_host_cas);
	else
		json_bool(w, false); /* this is the member `strict`, which is off by default */
}

static void write_network(struct json_writer *w, const struct spec *s)
{
	static const char *const ours[] = { "enabled", "max_connections", "ports", "trust_host_cas",
					    "strict" };
	const struct json_value *extra = s->net_extra_doc ? json_root(s->net_extra_doc) : NULL;
	size_t n_extra = extra && extra->type == JSON_OBJECT ? extra->object.n : 0, n = 0;
	AUTO_FREE struct net_member *m = xcalloc(ARRAY_SIZE(ours) + n_extra, sizeof(*m));

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (i < 4 || !json_get(extra, ours[i]))
			m[n++].key = ours[i];
	for (size_t i = 0; i < n_extra; i++) {
		const struct json_member *x = &extra->object.member[i];

		if (str_eq(x->key, ours[0]) || str_eq(x->key, ours[1]) || str_eq(x->key, ours[2]) ||
		    str_eq(x->key, ours[3]))
			continue;
		m[n++] = (struct net_member){ x->key.p, &x->value };
	}
	qsort(m, n, sizeof(*m), by_net_key);
	json_key(w, "network");
	json_begin_object(w);
	for (size_t i = 0; i < n; i++) {
		json_key(w, m[i].key);
		if (m[i].value)
			json_value_copy(w, m[i].value);
		else
			write_own_net_member(w, m[i].key, s);
	}
	json_end_object(w);
}

static void write_patches(struct json_writer *w, const struct spec *s)
{
	json_key(w, "patches");
	json_begin_array(w);
	for (size_t i = 0; i < s->n_patches; i++) {
		json_begin_object(w);
		json_key_str(w, "op", s->patch[i].op);
		key_bytes(w, "path", s->patch[i].path);
		key_bytes(w, "source", s->patch[i].source);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_resources(struct json_writer *w, const struct spec *s)
{
	json_key(w, "resources");
	json_begin_object(w);
	json_key_str(w, "cpu_placement", s->cpu_placement);
	cpus_write_json(w, "cpus", s->cpu_milli);
	cpus_write_json(w, "max_cpus", s->max_cpu_milli);
	json_key_int(w, "max_memory_mib", (int64_t)s->max_memory_mib);
	json_key_int(w, "memory_mib", (int64_t)s->memory_mib);
	json_key_int(w, "pids_limit", (int64_t)s->pids_limit);
	json_key_str(w, "placement_profile", s->placement_profile);
	if (s->soft_limits)
		json_key_bool(w, "soft_limits", true);
	json_key_str(w, "thp", s->thp);
	json_end_object(w);
}

static void key_limit(struct json_writer *w, const char *key, uint64_t v)
{
	json_key(w, key);
	if (v == UINT64_MAX)
		json_null(w); /* unlimited */
	else
		json_uint(w, v);
}

static void write_rlimits(struct json_writer *w, const struct spec *s)
{
	json_key(w, "rlimits");
	json_begin_array(w);
	for (size_t i = 0; i < s->n_rlimits; i++) {
		json_begin_object(w);
		key_limit(w, "hard", s->rlimit[i].hard);
		json_key_str(w, "resource", rlimit_name(s->rlimit[i].resource));
		key_limit(w, "soft", s->rlimit[i].soft);
		json_end_object(w);
	}
	json_end_array(w);
}

static int by_script_name(const void *a, const void *b)
{
	return strcmp(((const struct spec_script *)a)->name, ((const struct spec_script *)b)->name);
}

static void write_scripts(struct json_writer *w, const struct spec *s)
{
	AUTO_FREE struct spec_script *sorted = xcalloc(s->n_scripts + 1, sizeof(*sorted));
	bool text = true;

	for (size_t i = 0; i < s->n_scripts; i++)
		sorted[i] = s->script[i];
	qsort(sorted, s->n_scripts, sizeof(*sorted), by_script_name);
	json_key(w, "scripts");
	json_begin_object(w);
	for (size_t i = 0; i < s->n_scripts; i++) {
		json_key_str(w, sorted[i].name, sorted[i].body);
		text = text && utf8_valid(sorted[i].body, strlen(sorted[i].body));
	}
	json_end_object(w);
	if (text)
		return;
	json_key(w, "scripts_base64");
	json_begin_object(w);
	for (size_t i = 0; i < s->n_scripts; i++) {
		json_key(w, sorted[i].name);
		base64_str(w, sorted[i].body);
	}
	json_end_object(w);
}

static void write_runtime(struct json_writer *w, const struct spec *s)
{
	json_key(w, "runtime");
	json_begin_object(w);
	if (s->cmd.n)
		key_strv(w, "cmd", &s->cmd);
	else
		json_key_null(w, "cmd");
	json_key_bool(w, "disable_metrics_sample", s->metrics_disabled);
	if (s->has_entrypoint)
		key_strv(w, "entrypoint", &s->entrypoint);
	else
		json_key_null(w, "entrypoint");
	json_key_str(w, "hostname", s->hostname);
	json_key_bool(w, "log_disabled", s->log_disabled);
	json_key_str(w, "log_level", s->log_level);
	json_key_int(w, "metrics_sample_interval_ms", s->metrics_interval_ms);
	if (s->owner.set) {
		json_key(w, "owner");
		json_begin_object(w);
		json_key_int(w, "gid", s->owner.gid);
		json_key_int(w, "uid", s->owner.uid);
		json_end_object(w);
	}
	write_scripts(w, s);
	key_bytes(w, "shell", s->shell ? s->shell : SPEC_DEFAULT_SHELL);
	if (s->shell_fallback)
		json_key_bool(w, "shell_fallback", true);
	json_key_str(w, "stop_signal", s->stop_signal);
	key_bytes(w, "user", s->user);
	key_bytes(w, "workdir", s->workdir);
	json_end_object(w);
}

static void write_lifecycle(struct json_writer *w, const struct spec *s)
{
	json_key(w, "lifecycle");
	json_begin_object(w);
	json_key_bool(w, "ephemeral", s->ephemeral);
	key_count(w, "idle_timeout_secs", s->idle_timeout_s);
	key_count(w, "max_duration_secs", s->max_duration_s);
	json_end_object(w);
}

void spec_write_json(const struct spec *s, struct json_writer *w)
{
	json_begin_object(w);
	json_key_str(w, "deployment_profile", s->multi_tenant ? "multi_tenant" : "single_tenant");
	json_key_str(w, "engine", spec_engine_words[s->engine]);
	write_env(w, s);
	write_explicit(w, s);
	write_image(w, &s->image);
	key_strv(w, "image_env", &s->image_env);
	json_key_null(w, "init");
	write_labels(w, s);
	write_lifecycle(w, s);
	json_key_str(w, "manifest_digest", s->image.manifest_digest);
	json_key(w, "mounts");
	json_begin_array(w);
	for (size_t i = 0; i < s->n_mounts; i++)
		mount_write_json(w, &s->mount[i]);
	json_end_array(w);
	json_key_str(w, "name", s->name);
	write_network(w, s);
	write_patches(w, s);
	json_key_str(w, "pull_policy", spec_pull_names[s->pull]);
	if (s->read_only)
		json_key_bool(w, "read_only", true);
	write_resources(w, s);
	write_rlimits(w, s);
	write_runtime(w, s);
	if (s->own_filters)
		json_key_bool(w, "seccomp_filters", true);
	json_key_str(w, "security_profile", s->restricted ? "restricted" : "default");
	if (s->writable.n)
		key_strv(w, "writable", &s->writable);
	json_end_object(w);
}
