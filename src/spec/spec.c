#include "spec/spec.h"

#include <stdlib.h>

uint64_t spec_root_disk_mib(const struct spec *s)
{
	const struct spec_root_disk *d = &s->image.root_disk;

	if (d->size_mib)
		return d->size_mib;
	return d->kind == ROOT_DISK_TMPFS ? (s->memory_mib + 1) / 2 : SPEC_DEFAULT_ROOT_DISK_MIB;
}

void spec_root_disk_done(struct spec_root_disk *d)
{
	free(d->path);
	free(d->format);
	free(d->fstype);
	free(d->clone);
	*d = (struct spec_root_disk){ 0 };
}

void spec_image_done(struct spec_image *i)
{
	free(i->reference);
	free(i->manifest_digest);
	spec_root_disk_done(&i->root_disk);
	*i = (struct spec_image){ 0 };
}

void spec_mount_done(struct spec_mount *m)
{
	free(m->source);
	free(m->guest);
	free(m->format);
	free(m->fstype);
	free(m->origin);
	*m = (struct spec_mount){ 0 };
}

static void env_done(struct spec_env *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].key);
		free(list[i].value);
	}
	free(list);
}

static void lists_done(struct spec *s)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		spec_mount_done(&s->mount[i]);
	free(s->mount);
	env_done(s->env, s->n_env);
	env_done(s->label, s->n_labels);
	for (size_t i = 0; i < s->n_ports; i++)
		free(s->port[i].bind);
	free(s->port);
	free(s->rlimit);
	for (size_t i = 0; i < s->n_scripts; i++) {
		free(s->script[i].name);
		free(s->script[i].body);
	}
	free(s->script);
	for (size_t i = 0; i < s->n_patches; i++) {
		free(s->patch[i].op);
		free(s->patch[i].source);
		free(s->patch[i].name);
		free(s->patch[i].path);
	}
	free(s->patch);
}

void spec_init(struct spec *s)
{
	*s = (struct spec){
		.image.kind = IMAGE_OCI,
		.cpu_milli = SPEC_DEFAULT_CPU_MILLI,
		.max_cpu_milli = SPEC_DEFAULT_CPU_MILLI,
		.memory_mib = SPEC_DEFAULT_MEMORY_MIB,
		.max_memory_mib = SPEC_DEFAULT_MEMORY_MIB,
		.pids_limit = SPEC_DEFAULT_PIDS,
		.net_enabled = true,
		.max_connections = SPEC_DEFAULT_MAX_CONNECTIONS,
		.metrics_interval_ms = SPEC_DEFAULT_METRICS_INTERVAL_MS,
	};
}

void spec_done(struct spec *s)
{
	if (!s)
		return;
	free(s->name);
	spec_image_done(&s->image);
	lists_done(s);
	strv_done(&s->writable);
	strv_done(&s->image_env);
	strv_done(&s->entrypoint);
	strv_done(&s->cmd);
	free(s->workdir);
	free(s->shell);
	free(s->user);
	free(s->hostname);
	free(s->stop_signal);
	free(s->log_level);
	free(s->thp);
	free(s->cpu_placement);
	free(s->placement_profile);
	json_free(s->net_extra_doc);
	*s = (struct spec){ 0 };
}
