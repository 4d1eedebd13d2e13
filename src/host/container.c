#include "host/container.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

/* clang-format off */
static const char *const advice[CONTAINER_NEED_COUNT] = {
	[CONTAINER_NAMESPACES] =
		"the container's seccomp filter forbids namespaces or mounts; give it "
		"--security-opt seccomp=unconfined (Docker, Podman) or "
		"securityContext.seccompProfile.type: Unconfined (Kubernetes)",
	[CONTAINER_MOUNTS] =
		"the container's AppArmor profile forbids mounts; give it "
		"--security-opt apparmor=unconfined (Docker, Podman) or "
		"securityContext.appArmorProfile.type: Unconfined (Kubernetes)",
	[CONTAINER_PROC] =
		"the container's /proc is covered in parts, and then the kernel mounts no fresh one; give it "
		"--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
		"securityContext.procMount: Unmasked with hostUsers: false (Kubernetes)",
	[CONTAINER_CGROUPS] =
		"the container's cgroups are read-only; give it "
		"--security-opt writable-cgroups=true (Docker 28; before: --privileged), "
		"--security-opt unmask=/sys/fs/cgroup (Podman) or securityContext.privileged: true (Kubernetes)",
	[CONTAINER_FUSE] = CONTAINER_FUSE_TEXT,
};
/* clang-format on */

const char *container_advice(enum container_need need)
{
	return advice[need];
}

bool container_is_filtered(void)
{
	static int mode = -1;

	if (mode < 0)
		mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	return mode == SECCOMP_MODE_FILTER;
}

bool container_has_readonly_cgroups(void)
{
	struct statvfs s;

	/* version 1 has a file system for each controller; version 2 is one file system */
	return (statvfs(CGROUP_ROOT "/memory", &s) == 0 || statvfs(CGROUP_ROOT, &s) == 0) &&
	       (s.f_flag & ST_RDONLY);
}
