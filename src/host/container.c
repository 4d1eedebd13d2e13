#include "host/container.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "host/mountinfo.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define PODMAN_MARK "/run/.containerenv" /* Podman makes this file in every container */
#define ADVICE_BYTES 640                 /* room for the longest text and three options */
#define LABEL_MAX_BYTES 4096             /* room for the name of an AppArmor profile */

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
		"parts of the container's /proc are covered, so the kernel refuses to mount a new /proc; "
		"give the container "
		"--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
		"securityContext.procMount: Unmasked with hostUsers: false (Kubernetes)",
	[CONTAINER_CGROUPS] =
		"the container's cgroups are read-only; give it "
		"--security-opt writable-cgroups=true (Docker 28; before: --privileged), "
		"--security-opt unmask=/sys/fs/cgroup (Podman) or securityContext.privileged: true (Kubernetes)",
	[CONTAINER_FUSE] = CONTAINER_FUSE_TEXT,
};
/* clang-format on */

static bool is_below(struct str path, struct str top)
{
	return path.n > top.n && memcmp(path.p, top.p, top.n) == 0 && path.p[top.n] == '/';
}

/* TOP is the path of a mounted /proc. Returns true if another mount lies below TOP, and so covers a
 * part of this /proc. Two mount points do not count: the kernel keeps these directories empty, so
 * that something can be mounted there. */
static bool is_covered(struct str mounts, struct str top)
{
	struct mountinfo m;

	while (mountinfo_next(&mounts, &m))
		if (is_below(m.point, top) && !str_eq(m.point, "/proc/sys/fs/binfmt_misc") &&
		    !str_eq(m.point, "/proc/fs/nfsd"))
			return true;
	return false;
}

bool container_has_covered_proc(void)
{
	AUTO_BUF text = BUF_INIT(MOUNTINFO_MAX_BYTES);
	struct str mounts, rest;
	struct mountinfo m;
	bool covered = false;

	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", &text) < 0)
		return false;
	mounts = rest = (struct str){ buf_str(&text), text.n };
	while (mountinfo_next(&rest, &m)) {
		if (!str_eq(m.fstype, "proc") || !str_eq(m.root, "/"))
			continue;
		if (!is_covered(mounts, m.point))
			return false; /* one uncovered /proc is enough to mount a new /proc */
		covered = true;
	}
	return covered;
}

/* Returns true if an AppArmor profile confines this process. */
static bool has_profile(void)
{
	AUTO_BUF label = BUF_INIT(LABEL_MAX_BYTES);

	return io_read_file(AT_FDCWD, "/proc/self/attr/apparmor/current", &label) == 0 &&
	       label.n > 0 && strncmp(buf_str(&label), "unconfined", 10) != 0;
}

const char *container_advice(enum container_need need)
{
	static char text[CONTAINER_NEED_COUNT][ADVICE_BYTES];
	bool podman = access(PODMAN_MARK, F_OK) == 0;
	bool known =
		need == CONTAINER_NAMESPACES || need == CONTAINER_MOUNTS || need == CONTAINER_PROC;
	bool namespaces = known && (need == CONTAINER_NAMESPACES || container_is_filtered());
	bool mounts = known && (need == CONTAINER_MOUNTS || has_profile());
	bool proc = known && (need == CONTAINER_PROC || container_has_covered_proc());

	/* either NEED is all that is missing, or it is a need that we never combine with others */
	if (namespaces + mounts + proc < 2)
		return advice[need];
	/* name all options at once, so that the user need not try one after the other */
	snprintf(text[need], sizeof(text[need]), "%s; in all: %s run%s%s%s", advice[need],
		 podman ? "podman" : "docker",
		 namespaces ? " --security-opt seccomp=unconfined" : "",
		 mounts ? " --security-opt apparmor=unconfined" : "",
		 !proc    ? ""
		 : podman ? " --security-opt unmask=ALL"
			  : " --security-opt systempaths=unconfined");
	return text[need];
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

	/* cgroups version 1 has a file system for each controller; version 2 has only one */
	return (statvfs(CGROUP_ROOT "/memory", &s) == 0 || statvfs(CGROUP_ROOT, &s) == 0) &&
	       (s.f_flag & ST_RDONLY);
}
