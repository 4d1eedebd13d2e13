/*
 * Facts say what this machine lets the user of this process do. There is one fact for each thing
 * that a sandbox may need. A probe finds out a fact: it tries the operation that a sandbox would
 * need, and never looks at a version number. If the operation fails, the fact says what to change.
 * `cordon doctor`, error hints and the tests read the facts.
 *
 * A probe forks and takes some milliseconds, so the creation of a sandbox must not run probes.
 */
#pragma once

#include <stdbool.h>

enum fact_id {
	/* two nested user namespaces can be made, and the other namespaces in the outer of the
	 * two */
	FACT_USER_NAMESPACE,
	FACT_SUBIDS,          /* the user has 65536 subordinate ids */
	FACT_OVERLAY,         /* overlay can be mounted inside a user namespace */
	FACT_OVERLAY_ON_DISK, /* overlay can have its writable layer in the directory DIR */
	/* fuse-overlayfs, which replaces the kernel's overlay, and /dev/fuse exist */
	FACT_FUSE_OVERLAYFS,
	FACT_MOUNT_API,      /* the kernel has fsopen, open_tree and mount_setattr */
	FACT_IDMAPPED_MOUNT, /* mounts of the directory DIR can have their ids mapped */
	FACT_CGROUP_MEMORY,  /* a cgroup can be made that limits memory */
	FACT_CGROUP_CPU,     /* a cgroup can be made that limits CPU time */
	FACT_CGROUP_PIDS,    /* a cgroup can be made that limits the number of processes */
	FACT_CGROUP_KILL,    /* cgroup.kill can kill a version 2 cgroup */
	/* this process can start set-user-id programs: no_new_privs is not set */
	FACT_SETUID_PROGRAMS,
	FACT_LANDLOCK,
	FACT_TUN,
	FACT_KVM,
	FACT_LOOP,
	FACT_PROJECT_QUOTA, /* the file system of the directory DIR enforces project quotas */
	FACT_COUNT
};

#define FACT_TEXT_BYTES 256 /* holds one line of a terminal and a path */
/* holds the longest text of container_advice() (ADVICE_BYTES) */
#define FACT_FIX_BYTES 640

struct fact {
	bool yes;
	int sys;                    /* errno of the operation that the probe tried, or 0 */
	char text[FACT_TEXT_BYTES]; /* a detail or the reason: "ABI 7", "open '/dev/kvm': …" */
	/* the command or setting that makes the operation possible, or "" */
	char fix[FACT_FIX_BYTES];
};

struct facts {
	struct fact fact[FACT_COUNT];
};

/* Probes all facts. DIR is the directory in which sandboxes keep their files; it must exist. */
void facts_probe(const char *dir, struct facts *ret);
void fact_probe(enum fact_id id, const char *dir, struct fact *ret);
