/*
 * The settings that a container needs so that sandboxes work in it. Each text says what is missing and names the setting
 * of Docker, Podman and Kubernetes. `cordon doctor`, the errors of the engine and the log of the Box server take their
 * words from here.
 */
#pragma once

#include <stdbool.h>

/* a literal, so that longer texts can contain it */
#define CONTAINER_FUSE_TEXT                                                                        \
	"keep CORDON_HOME on a volume (Docker and Podman: -v, Kubernetes: emptyDir), or give the " \
	"container --device /dev/fuse (Docker, Podman) and the package fuse-overlayfs"

enum container_need {
	CONTAINER_NAMESPACES, /* its system call filter forbids new namespaces, or the mounts in them */
	CONTAINER_MOUNTS,     /* its AppArmor profile forbids mounts */
	CONTAINER_PROC,       /* its engine covers parts of /proc */
	CONTAINER_CGROUPS, /* its cgroups are read-only */
	CONTAINER_FUSE,    /* the home is on the container's overlay, and there is no /dev/fuse */
	CONTAINER_NEED_COUNT
};

/* Returns the advice. If this container lacks more than one option, the advice ends with all of them, as words of
 * `docker run` or `podman run`. */
const char *container_advice(enum container_need need);
/* Returns true if parts of every /proc that this process sees are covered. Then the kernel mounts no new /proc. */
bool container_has_covered_proc(void);

/* Returns true if this process was started under a system call filter. The first call asks the kernel, so a process that
 * sets its own filter must call this function before. */
bool container_is_filtered(void);
/* Returns true if the cgroups that this process sees are read-only. */
bool container_has_readonly_cgroups(void);
