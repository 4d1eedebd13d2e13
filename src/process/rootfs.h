/*
 * Turns a spec into the steps that build its root file system.
 *
 * The parent opens every source before it clones the child that builds the root. Sources are
 * descriptors, so nobody can replace a source between the check and the mount. If the parent may
 * mount (CAP_SYS_ADMIN), it clones the trees itself and maps their ids. Otherwise the child clones
 * the trees by their canonical paths, and checks that each has the inode that the parent saw.
 */
#pragma once

#include "base/buf.h"
#include "process/ids.h"
#include "process/plan.h"
#include "spec/spec.h"

#define ROOTFS_LAYERS_MAX 500 /* the kernel's limit for an overlay */

/* How the ids of a tree are mapped. */
enum tree_map_kind {
	MAP_NONE,
	/* a file with the owner N on the host has the owner N in the sandbox */
	MAP_SANDBOX,
	/* only the owner of the source is mapped, to one user of the sandbox */
	MAP_OWNER,
	/* like MAP_SANDBOX; but if the file system cannot map ids, fuse-overlayfs can serve the
	 * layer */
	MAP_LAYER,
	/* like MAP_SANDBOX; but if the file system cannot map ids, the files belong to nobody */
	MAP_FIXTURES,
};
struct tree_map {
	int tree;
	enum tree_map_kind kind;
	uid_t uid; /* MAP_OWNER: the owner of the source */
	gid_t gid;
	uid_t inside_uid; /* MAP_OWNER: the owner inside */
	gid_t inside_gid;
};

#define TREE_MAPS_MAX PLAN_TREES_MAX

/* The owner and the mode that a directory in the new root gets, if the directory exists. */
struct rootfs_owner {
	char path[256];
	unsigned mode;
	uint32_t uid, gid; /* ids inside the sandbox */
};

/* A place in a volume at which our own state would be visible, so we cover it. */
struct rootfs_hidden {
	size_t mount; /* index in spec->mount */
	char *below;  /* "/…", allocated */
};

struct rootfs {
	const struct spec *spec;
	const struct ids *ids;
	bool parent_mounts;              /* we have CAP_SYS_ADMIN over our mount namespace */
	int layer_fd[ROOTFS_LAYERS_MAX]; /* lowest first */
	size_t n_layers;
	/* true: layer_fd[0] is the mount in which the reader, a fuse-overlayfs, shows all layers
	 * (process/fuse_overlay.h) */
	bool layers_shown;
	bool one_disk; /* the only layer is the whole root, on a mount of this sandbox alone */
	/* the directory with upper/ and work/; -1 if the writable layer is in memory, or if the
	 * root has no writable layer (one_disk, or an image that is used in place) */
	int upper_fd;
	bool upper_is_mount; /* upper_fd is a mount of this sandbox alone */
	/* the writable layer has a limit; the payload can fill it, so room is kept for the next
	 * start */
	bool upper_limited;
	uint64_t memory_mib;         /* the size of a writable layer in memory */
	struct rootfs_owner *owners; /* allocated, or NULL */
	size_t n_owners;
	int sys_fd, dev_fd; /* the directories of process/fixtures.h, or -1 */
	bool served;        /* fuse-overlayfs unites the layers instead of the kernel */
	/* one per spec->mount: the descriptor of the source; for a disk, of its mount; -1 for a
	 * tmpfs */
	int *volume_fd;
	struct rootfs_hidden *hidden; /* allocated; a place comes before the places below it */
	size_t n_hidden;
	/* the text of /etc/profile with our block; NULL if the image's own file is used */
	char *profile;
	char *host_cas;          /* root certificates of the host; NULL without --trust-host-cas */
	char *ca_bundle;         /* the root certificates of the image and of the host together */
	char *ca_place;          /* the path in the sandbox of the file with the text ca_bundle */
	int fallback_shell;      /* a static bash for an image without one, or -1 */
	const char *resolv_conf; /* text of /etc/resolv.conf, or NULL without a network */
	const char *hosts_line;  /* a line for /etc/hosts, or NULL */
	char hostname[SPEC_HOSTNAME_MAX_BYTES + 1];
};

/* Returns true if the kernel's overlay unites the layers of R. */
static inline bool rootfs_is_overlay(const struct rootfs *r)
{
	return !r->served && !r->one_disk && !spec_image_in_place(&r->spec->image);
}

/* Returns the mount attributes for the volume *M. */
unsigned long rootfs_volume_attrs(const struct spec_mount *m, bool restricted);
/* Adds all steps that build the root, from opening the trees to changing the root directory. MAPS
 * gets the trees whose ids must be mapped. If R->served is true, DEVICE is the number that the
 * descriptor of /dev/fuse has in the child. GROUP is the control group that the sandbox sees
 * read-only at /sys/fs/cgroup. GROUP is -1 if there is no group, or if pid 1 mounts it
 * (process/group_view.h). */
MUST_USE int rootfs_plan(const struct rootfs *r, int device, int group, struct plan *p,
			 struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps, struct err *e);
/* Adds the steps that build the root of the fuse-overlayfs that serves *R. That root has only the
 * layers and the libraries of the host, and the writable layer if WRITES is true. */
MUST_USE int rootfs_plan_fuse_overlay(const struct rootfs *r, bool writes, struct plan *p,
				      struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps,
				      struct err *e);
/* Writes the options of fuse-overlayfs, with the names that rootfs_plan_fuse_overlay() gives the
 * layers. */
void rootfs_fuse_overlay_options(const struct rootfs *r, bool writes, struct buf *out);
