#include "spec/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "policy/addr.h"
#include "spec/cpus.h"
#include "spec/grammar.h"
#include "spec/list.h"
#include "spec/root_disk.h"

#define CONFIG_MAX_BYTES (1u << 20) /* enough for a thousand registries */

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static void config_init(struct config *c)
{
	*c = (struct config){ .metrics_interval_ms = -1 };
}

static void registry_done(struct config_registry *r)
{
	free(r->host);
	free(r->username);
	free(r->password_env);
	free(r->secret_name);
	free(r->store);
}

void config_done(struct config *c)
{
	free(c->log_level);
	free(c->shell);
	free(c->workdir);
	free(c->thp);
	free(c->cpu_placement);
	free(c->placement_profile);
	spec_root_disk_done(&c->root_disk);
	free(c->cache);
	free(c->sandboxes);
	free(c->volumes);
	free(c->snapshots);
	free(c->logs);
	free(c->secrets);
	free(c->host_address);
	free(c->ca_certs);
	for (size_t i = 0; i < c->n_registries; i++)
		registry_done(&c->registry[i]);
	free(c->registry);
	config_init(c);
}

static int read_oci(const struct json_value *v, struct config *c, struct err *e)
{
	static const char at[] = "sandbox_defaults.oci.root_disk";
	const struct json_value *disk = json_get(v, "root_disk");

	if (!disk || disk->type == JSON_NULL)
		return 0;
	if (disk->type == JSON_STRING) {
		if (parse_root_disk(at, disk->string.p, &c->root_disk, e) < 0)
			return -1;
	} else if (root_disk_read_json(disk, at, &c->root_disk, e) < 0) {
		return -1;
	}
	if (c->root_disk.kind == ROOT_DISK_PATH)
		return err_set(e, ERR_INVALID, "%s: all sandboxes would share one disk", at);
	c->root_disk.explicit = c->root_disk.asked = false;
	return 0;
}

static int read_defaults(const struct json_value *v, struct config *c, struct err *e)
{
	struct {
		const char *shell, *workdir, *thp, *cpu_placement, *placement_profile;
		int64_t memory_mib, metrics_sample_interval_ms;
		bool disable_metrics_sample;
		const struct json_value *cpus, *oci;
	} in = { .metrics_sample_interval_ms = -1 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), shell, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), workdir, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), thp, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), cpu_placement, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), placement_profile, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), cpus, JSON_OPTIONAL),
		FIELD_INT(__typeof__(in), memory_mib, JSON_OPTIONAL, 1, SPEC_SIZE_MAX_MIB),
		FIELD_INT(__typeof__(in), metrics_sample_interval_ms, JSON_OPTIONAL, 0, UINT32_MAX),
		FIELD_BOOL(__typeof__(in), disable_metrics_sample, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), oci, JSON_OPTIONAL),
	};

	if (!v)
		return 0;
	if (json_decode(v, "sandbox_defaults", fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    cpus_read_json(in.cpus, "sandbox_defaults.cpus", &c->cpu_milli, e) < 0)
		return -1;
	if (in.shell && parse_shell(in.shell, e) < 0)
		return err_wrap(e, "sandbox_defaults.shell");
	if (in.workdir && *in.workdir != '/')
		return err_set(e, ERR_INVALID, "sandbox_defaults.workdir: '%s' is not absolute",
			       in.workdir);
	c->shell = copy(in.shell);
	c->workdir = copy(in.workdir);
	c->thp = copy(in.thp);
	c->cpu_placement = copy(in.cpu_placement);
	c->placement_profile = copy(in.placement_profile);
	c->memory_mib = (uint64_t)in.memory_mib;
	c->metrics_interval_ms = in.metrics_sample_interval_ms;
	c->metrics_disabled = in.disable_metrics_sample;
	return read_oci(in.oci, c, e);
}

/* Makes PATH absolute: "~/" means the home directory of the user who runs cordon, and relative
 * paths are below HOME. */
static char *below(const char *home, const char *path)
{
	char place[PATH_MAX];
	const char *user = account_home(place);

	if (!path || *path == '/')
		return copy(path);
	if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') && user)
		return xasprintf("%s%s", user, path + 1);
	return xasprintf("%s/%s", home, path);
}

static int read_paths(const struct json_value *v, const char *home, struct config *c, struct err *e)
{
	struct {
		const char *cache, *sandboxes, *volumes, *snapshots, *logs, *secrets;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), cache, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), sandboxes, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), volumes, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), snapshots, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), logs, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), secrets, JSON_OPTIONAL),
	};

	if (!v)
		return 0;
	if (json_decode(v, "paths", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *path = *(const char **)((char *)&in + fields[i].offset);

		if (path && !*path)
			return err_set(e, ERR_INVALID, "paths.%s: empty", fields[i].key);
	}
	c->cache = below(home, in.cache);
	c->sandboxes = below(home, in.sandboxes);
	c->volumes = below(home, in.volumes);
	c->snapshots = below(home, in.snapshots);
	c->logs = below(home, in.logs);
	c->secrets = below(home, in.secrets);
	return 0;
}

static int read_registry(const struct json_member *m, struct config *c, struct err *e)
{
	struct {
		bool insecure;
		const struct json_value *auth;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_BOOL(__typeof__(in), insecure, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), auth, JSON_OPTIONAL),
	};
	struct {
		const char *username, *password_env, *secret_name, *store;
	} auth = { 0 };
	static const struct json_field auth_fields[] = {
		FIELD_STR(__typeof__(auth), username, JSON_OPTIONAL),
		FIELD_STR(__typeof__(auth), password_env, JSON_OPTIONAL),
		FIELD_STR(__typeof__(auth), secret_name, JSON_OPTIONAL),
		FIELD_STR(__typeof__(auth), store, JSON_OPTIONAL),
	};
	AUTO_FREE char *path = xasprintf("registries.hosts.%s", m->key.p);
	struct config_registry *r;

	if (json_decode(&m->value, path, fields, ARRAY_SIZE(fields), false, &in, e) < 0 ||
	    (in.auth &&
	     json_decode(in.auth, path, auth_fields, ARRAY_SIZE(auth_fields), false, &auth, e) < 0))
		return -1;
	if (auth.secret_name && spec_check_name(path, auth.secret_name, e) < 0)
		return -1;
	r = LIST_ADD(c->registry, c->n_registries);
	r->host = xstrdup(m->key.p);
	r->insecure = in.insecure;
	r->username = copy(auth.username);
	r->password_env = copy(auth.password_env);
	r->secret_name = copy(auth.secret_name);
	r->store = copy(auth.store);
	return 0;
}

static int read_registries(const struct json_value *v, const char *home, struct config *c,
			   struct err *e)
{
	struct {
		const char *ca_certs;
		const struct json_value *hosts;
	} in = { 0 };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), ca_certs, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), hosts, JSON_OPTIONAL),
	};

	if (!v)
		return 0;
	if (json_decode(v, "registries", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	c->ca_certs = below(home, in.ca_certs);
	if (!in.hosts)
		return 0;
	if (in.hosts->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "registries.hosts: expected object");
	for (size_t i = 0; i < in.hosts->object.n; i++)
		if (read_registry(&in.hosts->object.member[i], c, e) < 0)
			return -1;
	return 0;
}

static int read_host_addresses(const struct json_value *v, struct config *c, struct err *e)
{
	static const char at[] = "host_addresses";

	if (!v)
		return 0;
	if (v->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "%s: expected array", at);
	if (v->array.n > CONFIG_HOST_ADDRESSES_MAX)
		return err_set(e, ERR_INVALID, "%s: more than %u", at, CONFIG_HOST_ADDRESSES_MAX);
	for (size_t i = 0; i < v->array.n; i++) {
		const struct json_value *a = &v->array.item[i];

		if (a->type != JSON_STRING)
			return err_set(e, ERR_INVALID, "%s: expected strings", at);
		if (cidr_parse(str_of(a->string.p),
			       LIST_ADD(c->host_address, c->n_host_addresses)) < 0)
			return err_set(e, ERR_INVALID, "%s: bad address or network '%.64s'", at,
				       a->string.p);
	}
	return 0;
}

static int read_engine(const char *what, const char *word, struct config *c, struct err *e)
{
	int i = word_index(spec_engine_words, word);

	if (i < 0)
		return err_set(e, ERR_INVALID,
			       "%s: unknown engine '%.64s', use auto, process or vm", what, word);
	c->engine = (enum spec_engine)i;
	return 0;
}

static int read_profile(const char *word, struct config *c, struct err *e)
{
	if (strcmp(word, "multi-tenant") == 0 || strcmp(word, "multi_tenant") == 0)
		c->multi_tenant = true;
	else if (strcmp(word, "single-tenant") != 0 && strcmp(word, "single_tenant") != 0)
		return err_set(
			e, ERR_INVALID,
			"deployment_profile: expected single-tenant or multi-tenant, got '%.64s'",
			word);
	return 0;
}

int config_read(const struct json_value *v, const char *home, struct config *ret, struct err *e)
{
	struct {
		const char *log_level, *engine, *deployment_profile;
		bool shell_fallback;
		const struct json_value *sandbox_defaults, *paths, *registries, *host_addresses;
	} in = { .engine = "auto", .deployment_profile = "single-tenant" };
	static const struct json_field fields[] = {
		FIELD_STR(__typeof__(in), log_level, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), engine, JSON_OPTIONAL),
		FIELD_STR(__typeof__(in), deployment_profile, JSON_OPTIONAL),
		FIELD_BOOL(__typeof__(in), shell_fallback, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), sandbox_defaults, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), paths, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), registries, JSON_OPTIONAL),
		FIELD_VALUE(__typeof__(in), host_addresses, JSON_OPTIONAL),
	};

	config_init(ret);
	if (json_decode(v, "", fields, ARRAY_SIZE(fields), false, &in, e) < 0)
		return -1;
	if (in.log_level && word_index(log_words, in.log_level) < 0)
		return err_set(
			e, ERR_INVALID,
			"log_level: bad value '%.64s': use error, warn, info, debug or trace",
			in.log_level);
	ret->log_level = copy(in.log_level);
	ret->shell_fallback = in.shell_fallback;
	if (read_engine("engine", in.engine, ret, e) < 0 ||
	    read_profile(in.deployment_profile, ret, e) < 0 ||
	    read_defaults(in.sandbox_defaults, ret, e) < 0 ||
	    read_paths(in.paths, home, ret, e) < 0 ||
	    read_host_addresses(in.host_addresses, ret, e) < 0 ||
	    read_registries(in.registries, home, ret, e) < 0) {
		config_done(ret);
		return -1;
	}
	return 0;
}

static int load_file(const char *path, bool must_exist, const char *home, struct config *ret,
		     struct err *e)
{
	AUTO_BUF b = BUF_INIT(CONFIG_MAX_BYTES);
	AUTO_JSON d = NULL;
	int r = io_read_file(AT_FDCWD, path, &b);

	if (r == -ENOENT && !must_exist)
		return 0;
	if (r < 0)
		return err_sys(e, -r, "read '%s'", path);
	if (json_parse(buf_str(&b), b.n, &d, e) < 0 || config_read(json_root(d), home, ret, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

int config_load(const char *home, struct config *ret, struct err *e)
{
	const char *given = getenv("MSB_CONFIG_PATH");
	const char *engine = getenv("CORDON_ENGINE");
	const char *fallback = getenv("MSB_SHELL_FALLBACK");
	AUTO_FREE char *path = given && *given ? xstrdup(given) : xasprintf("%s/config.json", home);

	config_init(ret);
	if (load_file(path, given && *given, home, ret, e) < 0)
		return given && *given ? err_wrap(e, "MSB_CONFIG_PATH") : -1;
	if (engine && *engine && read_engine("CORDON_ENGINE", engine, ret, e) < 0) {
		config_done(ret);
		return -1;
	}
	if (fallback && strcmp(fallback, "1") == 0)
		ret->shell_fallback = true;
	return 0;
}

static void replace(char **to, const char *from)
{
	if (!from)
		return;
	free(*to);
	*to = xstrdup(from);
}

void config_apply(const struct config *c, struct spec *s)
{
	const struct spec_root_disk *d = &c->root_disk;

	s->engine = c->engine;
	s->multi_tenant = c->multi_tenant;
	s->shell_fallback = c->shell_fallback;
	if (c->cpu_milli)
		s->cpu_milli = s->max_cpu_milli = c->cpu_milli;
	if (c->memory_mib)
		s->memory_mib = s->max_memory_mib = c->memory_mib;
	replace(&s->log_level, c->log_level);
	replace(&s->shell, c->shell);
	replace(&s->workdir, c->workdir);
	replace(&s->thp, c->thp);
	replace(&s->cpu_placement, c->cpu_placement);
	replace(&s->placement_profile, c->placement_profile);
	s->image.root_disk.on_disk = d->on_disk;
	if (d->kind != ROOT_DISK_MANAGED || d->size_mib) {
		s->image.root_disk.configured = true;
		s->image.root_disk.kind = d->kind;
		s->image.root_disk.size_mib = d->size_mib;
		replace(&s->image.root_disk.fstype, d->fstype);
		replace(&s->image.root_disk.clone, d->clone);
	}
	if (c->metrics_interval_ms >= 0)
		s->metrics_interval_ms = (uint32_t)c->metrics_interval_ms;
	s->metrics_disabled = c->metrics_disabled || c->metrics_interval_ms == 0;
}
