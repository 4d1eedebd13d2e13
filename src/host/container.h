/*
 * The settings that a container needs so that sandboxes work in it. For each setting,
 * container_advice() returns a text that says what is missing and how the setting is called in
 * Docker, Podman and Kubernetes. `cordon doctor`, the errors of the engine and the log of the Box
 * server all show these texts.
 */
#pragma once

#include <stdbool.h>

/* a macro, so that longer string literals can contain this text */
#define CONTAINER_FUSE_TEXT                                                                        \
	"keep CORDON_HOME on a volume (Docker and Podman: -v, Kubernetes: emptyDir), or give the " \
	"container --device /dev/fuse (Docker, Podman) and the package fuse-overlayfs"

enum container_need {
	/* the container's system call filter forbids new namespaces, or mounts in new namespaces */
	CONTAINER_NAMESPACES,
	CONTAINER_MOUNTS,  /* the container's AppArmor profile forbids mounts */
	CONTAINER_PROC,    /* the container engine covers parts of /proc with mounts */
	CONTAINER_CGROUPS, /* the container's control groups are read-only */
	CONTAINER_FUSE,    /* the home is on the container's overlay, and there is no /dev/fuse */
	CONTAINER_NEED_COUNT
};

/* Returns the advice for NEED, a static text. If NEED is one of the first three needs, and this
 * container lacks two or three of them, the text ends with all their options, for example "in all:
 * docker run --security-opt …". */
const char *container_advice(enum container_need need);
/* Returns true if every /proc that this process sees has parts that are covered by mounts. In
 * this case the kernel refuses to mount a new /proc. */
bool container_has_covered_proc(void);

/* Returns true if this process was started under a system call filter. Only the first call asks the
 * kernel. So a process must call this function before it sets a filter of its own. */
bool container_is_filtered(void);
/* Returns true if the cgroups that this process sees are read-only. */
bool container_has_readonly_cgroups(void);
