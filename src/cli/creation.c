#include "cli/creation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/files.h"
#include "cli/mounts.h"
#include "cli/network.h"
#include "cli/project.h"
#include "client/prepare.h"
#include "client/removal.h"
#include "client/sandbox.h"
#include "client/stop.h"
#include "spec/cpus.h"
#include "spec/env_file.h"
#include "spec/grammar.h"

#define REPLACE_GRACE_MS 10000

static void set_str(char **field, const char *v)
{
	if (v) {
		free(*field);
		*field = xstrdup(v);
	}
}

static int add_all(struct spec *s, const struct args *a, const char *name,
		   int (*add)(struct spec *, const char *, struct err *), struct err *e)
{
	const struct strv *l = args_list(a, name);

	for (size_t i = 0; i < l->n; i++)
		if (add(s, l->v[i], e) < 0)
			return -1;
	return 0;
}

/* Adds the scripts, and the changes to files of the root, to S. Keeps the order of the command
 * line, because a change may need an earlier change. */
static int add_files(struct spec *s, const struct args *a, struct err *e)
{
	static const struct {
		const char *flag;
		int (*add)(struct spec *s, const char *flag, const char *value, struct err *e);
	} kinds[] = {
		{ "--script", spec_add_script },      { "--script-raw", spec_add_script },
		{ "--script-path", spec_add_script }, { "--copy", spec_add_patch },
		{ "--copy-file", spec_add_patch },    { "--copy-dir", spec_add_patch },
		{ "--mkdir", spec_add_patch },        { "--rm", spec_add_patch },
	};
	const char *name, *value;
	size_t at = 0;

	while ((value = args_next_value(a, &at, &name)))
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			if (strcmp(kinds[k].flag + 2, name) == 0 &&
			    kinds[k].add(s, kinds[k].flag, value, e) < 0)
				return -1;
	return 0;
}

static int set_resources(struct spec *s, const struct args *a, struct err *e)
{
	char cpus[CPUS_TEXT_BYTES], max[CPUS_TEXT_BYTES];
	const char *v;

	if (args_has(a, "cpus")) {
		s->cpu_milli = s->max_cpu_milli = (uint32_t)args_uint(a, "cpus", 0);
		s->cpus_set = true;
		if (s->cpu_milli < CPUS_MIN_MILLI)
			return err_set(e, ERR_INVALID, "--cpus: bad value '%s': at least 0.01",
				       args_str(a, "cpus"));
	}
	if ((v = args_str(a, "memory"))) {
		if (parse_size_mib("--memory", v, &s->memory_mib, e) < 0)
			return -1;
		s->max_memory_mib = s->memory_mib;
		s->memory_set = true;
	}
	if (args_has(a, "max-cpus"))
		s->max_cpu_milli = (uint32_t)args_uint(a, "max-cpus", 0);
	if (s->max_cpu_milli < s->cpu_milli)
		return err_set(e, ERR_INVALID, "--max-cpus: %s is below --cpus %s",
			       cpus_text(s->max_cpu_milli, max), cpus_text(s->cpu_milli, cpus));
	if ((v = args_str(a, "max-memory")) &&
	    parse_size_mib("--max-memory", v, &s->max_memory_mib, e) < 0)
		return -1;
	if (s->max_memory_mib < s->memory_mib)
		return err_set(e, ERR_INVALID, "--max-memory: %lluM is below --memory %lluM",
			       (unsigned long long)s->max_memory_mib,
			       (unsigned long long)s->memory_mib);
	if (args_has(a, "pids-limit")) {
		s->pids_limit = args_uint(a, "pids-limit", 0);
		s->pids_set = true;
		if (s->pids_limit == 0)
			return err_set(e, ERR_INVALID, "--pids-limit: bad value '0': at least 1");
	}
	if (args_has(a, "soft-limits"))
		s->soft_limits = true;
	if ((v = args_str(a, "max-duration")) &&
	    parse_duration_s("--max-duration", v, &s->max_duration_s, e) < 0)
		return -1;
	if ((v = args_str(a, "idle-timeout")) &&
	    parse_duration_s("--idle-timeout", v, &s->idle_timeout_s, e) < 0)
		return -1;
	set_str(&s->thp, args_str(a, "thp"));
	set_str(&s->cpu_placement, args_str(a, "cpu-placement"));
	set_str(&s->placement_profile, args_str(a, "placement-profile"));
	return 0;
}

static int set_runtime(struct spec *s, const struct args *a, struct err *e)
{
	const struct strv *env = args_list(a, "env"), *files = args_list(a, "env-file");
	const char *v;

	for (size_t i = 0; i < files->n; i++)
		if (env_file_read(&s->env, &s->n_env, "--env-file", files->v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < env->n; i++)
		if (spec_add_env(&s->env, &s->n_env, "--env", env->v[i], e) < 0)
			return -1;
	if ((v = args_str(a, "workdir"))) {
		if (v[0] != '/')
			return err_set(e, ERR_INVALID, "--workdir: '%s' is not an absolute path",
				       v);
		set_str(&s->workdir, v);
	}
	if ((v = args_str(a, "shell"))) {
		if (parse_shell(v, e) < 0)
			return -1;
		set_str(&s->shell, v);
	}
	if ((v = args_str(a, "entrypoint"))) {
		if (!*v)
			return err_set(e, ERR_INVALID, "--entrypoint: empty");
		strv_done(&s->entrypoint);
		strv_add(&s->entrypoint, v);
		s->has_entrypoint = true;
	}
	if ((v = args_str(a, "hostname"))) {
		if (parse_hostname(v, e) < 0)
			return -1;
		set_str(&s->hostname, v);
	}
	if ((v = args_str(a, "user"))) {
		if (parse_user(v, e) < 0)
			return -1;
		set_str(&s->user, v);
	}
	if ((v = args_str(a, "security")))
		s->restricted = strcmp(v, "restricted") == 0;
	if (args_has(a, "seccomp-filters"))
		s->own_filters = true;
	if ((v = args_str(a, "deployment-profile")))
		s->multi_tenant = strcmp(v, "multi-tenant") == 0;
	return 0;
}

static int set_words(struct spec *s, const struct args *a, struct err *e)
{
	const char *v;

	if ((v = args_str(a, "pull"))) {
		int i = word_index(spec_pull_words, v);

		if (i < 0)
			return err_set(e, ERR_INVALID,
				       "--pull: bad value '%s': use always, if-missing or never",
				       v);
		s->pull = (enum spec_pull)i;
	}
	if ((v = args_str(a, "log-level"))) {
		if (word_index(log_words, v) < 0)
			return err_set(e, ERR_INVALID,
				       "--log-level: bad value '%s': use error, warn, info, debug "
				       "or trace",
				       v);
		set_str(&s->log_level, v);
	}
	if ((v = args_str(a, "engine")))
		s->engine = (enum spec_engine)word_index(spec_engine_words, v);
	if (s->engine == ENGINE_VM) {
		err_set(e, ERR_UNSUPPORTED, "--engine vm is not supported yet");
		return err_hint(e, "use --engine process; it needs no virtualisation");
	}
	return 0;
}

static int set_writable(struct spec *s, const struct args *a, struct err *e)
{
	const struct strv *places = args_list(a, "writable");

	s->read_only |= args_has(a, "read-only");
	for (size_t i = 0; i < places->n; i++)
		if (spec_add_writable(s, "--writable", places->v[i], e) < 0)
			return -1;
	return 0;
}

static int set_root_disk(struct spec *s, const struct args *a, struct err *e)
{
	const char *flag = args_has(a, "root-disk") ? "--root-disk" : "--oci-upper-size";
	const char *v = args_str(a, flag + 2);

	if (!v)
		return 0;
	if (parse_root_disk(flag, v, &s->image.root_disk, e) < 0)
		return -1;
	if (strcmp(flag, "--oci-upper-size") == 0 &&
	    (s->image.root_disk.kind != ROOT_DISK_MANAGED || s->image.root_disk.on_disk))
		return err_set(e, ERR_INVALID, "--oci-upper-size: bad size '%s'", v);
	return 0;
}

/* Applies the command line, which overrides the settings of files. */
static int apply_flags(struct spec *s, const struct args *a, const struct conf_extra *x,
		       struct err *e)
{
	if (set_resources(s, a, e) < 0 || set_runtime(s, a, e) < 0 || set_words(s, a, e) < 0 ||
	    network_from_args(a, x, s, e) < 0 || mounts_from_args(a, s, e) < 0 ||
	    add_files(s, a, e) < 0 || add_all(s, a, "label", spec_add_label, e) < 0)
		return -1;
	if (a->word.n && parse_image(a->word.v[0], &s->image, e) < 0)
		return -1;
	return set_root_disk(s, a, e) < 0 ? -1 : set_writable(s, a, e);
}

static int replace_grace(const struct args *a, uint64_t *ret_ms, struct err *e)
{
	const char *v = args_str(a, "replace-with-timeout");

	*ret_ms = REPLACE_GRACE_MS;
	return v ? parse_duration_ms("--replace-with-timeout", v, ret_ms, e) : 0;
}

/* Checks --replace-with-timeout, applies --identity, and prepares S for a launch. */
static int prepare_spec(const struct args *a, const struct home *h, const struct conf_extra *x,
			struct spec *s, struct err *e)
{
	static char hint[IMAGER_HINT_BYTES]; /* static, because E keeps a pointer to it */
	const struct preparation p = {
		.image_word = a->word.n ? a->word.v[0] : NULL,
		.fetch = { .quiet = args_has(a, "quiet"),
			   .username = x->registry_username,
			   .password_env = x->registry_password_env,
			   .hint = hint },
	};
	uint64_t ignored;

	if (replace_grace(a, &ignored, e) < 0 || mounts_expect(a, s, e) < 0)
		return -1;
	return prepare(h, &p, s, e);
}

int creation_spec(const struct args *a, const struct home *h, struct spec *s, struct err *e)
{
	const char *name = args_str(a, "name");
	struct project project = PROJECT_NONE;
	struct conf_extra x = { 0 };
	int r;

	spec_init(s);
	if (name && spec_check_name("--name", name, e) < 0)
		return -1;
	s->name = name ? xstrdup(name) : spec_random_name();
	s->ephemeral = args_bare(a, "rm");
	r = files_apply(a, h, s, &x, e);
	if (r == 0 && project_is_wanted(a))
		r = project_apply(a, h, &project, s, &x, e);
	if (r == 0)
		r = apply_flags(s, a, &x, e);
	if (r == 0 && project.dir)
		r = project_cover(&project, s, e);
	if (r == 0)
		r = prepare_spec(a, h, &x, s, e);
	if (r < 0 && !s->image.reference && project_is_wanted(a) && !project.dir && !e->hint)
		err_hint(e, "no " PROJECT_FILE " here or above: 'cordon init' writes one");
	project_done(&project);
	conf_extra_done(&x);
	return r;
}

int creation_replace(const struct args *a, const struct home *h, const char *name, struct err *e)
{
	uint64_t grace;

	if (replace_grace(a, &grace, e) < 0)
		return -1;
	if (!args_has(a, "replace-with-timeout") && !args_has(a, "replace"))
		return 0;
	if (sandbox_stop(h, name, grace >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)grace, e) == 0 &&
	    (sandbox_remove(h, name, true, e) == 0 || e->code == ERR_NOT_FOUND))
		return 0;
	if (e->code == ERR_BUSY) /* another command replaced the sandbox at the same time */
		err_set(e, ERR_EXISTS, "sandbox already exists: '%s' already exists again", name);
	return -1;
}
