#include "host/probe.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static void (*const probes[])(const char *dir, struct fact *f) = {
	[FACT_USER_NAMESPACE] = probe_user_namespace,
	[FACT_SUBIDS] = probe_subids,
	[FACT_OVERLAY] = probe_overlay,
	[FACT_OVERLAY_ON_DISK] = probe_overlay_on_disk,
	[FACT_FUSE_OVERLAYFS] = probe_fuse_overlayfs,
	[FACT_MOUNT_API] = probe_mount_api,
	[FACT_IDMAPPED_MOUNT] = probe_idmapped_mount,
	[FACT_CGROUP_MEMORY] = probe_cgroup_memory,
	[FACT_CGROUP_CPU] = probe_cgroup_cpu,
	[FACT_CGROUP_PIDS] = probe_cgroup_pids,
	[FACT_CGROUP_KILL] = probe_cgroup_kill,
	[FACT_SETUID_PROGRAMS] = probe_setuid_programs,
	[FACT_LANDLOCK] = probe_landlock,
	[FACT_TUN] = probe_tun,
	[FACT_KVM] = probe_kvm,
	[FACT_LOOP] = probe_loop,
	[FACT_PROJECT_QUOTA] = probe_project_quota,
};
static_assert(ARRAY_SIZE(probes) == FACT_COUNT, "a fact has no probe");

void fact_probe(enum fact_id id, const char *dir, struct fact *ret)
{
	memset(ret, 0, sizeof(*ret));
	probes[id](dir, ret);
}

void facts_probe(const char *dir, struct facts *ret)
{
	for (unsigned i = 0; i < FACT_COUNT; i++)
		fact_probe(i, dir, &ret->fact[i]);
}

void fact_yes(struct fact *f, const char *fmt, ...)
{
	va_list ap;

	f->yes = true;
	f->sys = 0;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void fact_no(struct fact *f, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	f->yes = false;
	f->sys = sys;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	n = strlen(f->text);
	if (sys != 0)
		snprintf(f->text + n, sizeof(f->text) - n, ": %s", strerror(sys));
}

void fact_fix(struct fact *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->fix, sizeof(f->fix), fmt, ap);
	va_end(ap);
}
