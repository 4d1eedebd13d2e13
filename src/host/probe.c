#include "host/probe.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct probe {
	const char *key, *name;
	void (*fn)(const char *dir, struct fact *f);
};

/* clang-format off */
static const struct probe probes[] = {
	[FACT_USER_NAMESPACE]  = { "user-namespace", "user namespaces", probe_user_namespace },
	[FACT_SUBIDS]          = { "subids", "own id range", probe_subids },
	[FACT_OVERLAY]         = { "overlay", "overlay in user namespace", probe_overlay },
	[FACT_OVERLAY_ON_DISK] = { "overlay-on-disk", "overlay on the state's disk", probe_overlay_on_disk },
	[FACT_FUSE_OVERLAYFS]  = { "fuse-overlayfs", "fuse-overlayfs", probe_fuse_overlayfs },
	[FACT_MOUNT_API]       = { "mount-api", "new mount calls", probe_mount_api },
	[FACT_IDMAPPED_MOUNT]  = { "idmapped-mount", "idmapped mounts", probe_idmapped_mount },
	[FACT_CGROUP_MEMORY]   = { "cgroup-memory", "memory limits", probe_cgroup_memory },
	[FACT_CGROUP_CPU]      = { "cgroup-cpu", "cpu limits", probe_cgroup_cpu },
	[FACT_CGROUP_PIDS]     = { "cgroup-pids", "process limits", probe_cgroup_pids },
	[FACT_CGROUP_KILL]     = { "cgroup-kill", "cgroup.kill", probe_cgroup_kill },
	[FACT_SETUID_PROGRAMS] = { "setuid-programs", "setuid programs", probe_setuid_programs },
	[FACT_LANDLOCK]        = { "landlock", "Landlock", probe_landlock },
	[FACT_TUN]             = { "tun", "/dev/net/tun", probe_tun },
	[FACT_KVM]             = { "kvm", "/dev/kvm", probe_kvm },
	[FACT_LOOP]            = { "loop", "loop devices", probe_loop },
	[FACT_PROJECT_QUOTA]   = { "project-quota", "project quota", probe_project_quota },
};
/* clang-format on */
static_assert(ARRAY_SIZE(probes) == FACT_COUNT, "a fact has no probe");

const char *fact_name(enum fact_id id)
{
	return probes[id].name;
}

const char *fact_key(enum fact_id id)
{
	return probes[id].key;
}

void fact_probe(enum fact_id id, const char *dir, struct fact *ret)
{
	memset(ret, 0, sizeof(*ret));
	probes[id].fn(dir, ret);
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
