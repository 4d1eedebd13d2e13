/*
 * Turns a spec into the steps that build its root file system.
 *
 * The caller has opened every source before the clone. Sources are descriptors, so nothing can be swapped between the
 * check and the mount. A parent that may mount (CAP_SYS_ADMIN) clones the trees itself and maps their ids. Otherwise the
 * child clones them by canonical path, and checks that it got the inode that the parent saw.
 */
#pragma once

#include "base/buf.h"
#include "process/ids.h"
#include "process/plan.h"
#include "spec/spec.h"

#define ROOTFS_LAYERS_MAX 500 /* the kernel's limit for overlay */

/* How the ids of a tree are mapped. */
enum tree_map_kind {
	MAP_NONE,
	MAP_SANDBOX,
	MAP_OWNER,
	/* like MAP_SANDBOX; if the file system cannot map ids, fuse-overlayfs can serve the
	 * layer */
	MAP_LAYER,
	/* like MAP_SANDBOX; if the file system cannot map ids, the files belong to nobody */
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

/* The owner and the mode of a directory in the new root, if it exists. */
struct rootfs_owner {
	char path[256];
	unsigned mode;
	uint32_t uid, gid; /* ids inside */
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
	bool layers_shown; /* layer_fd[0] is a mount that shows all layers, see fuse_overlay.h */
	bool one_disk;     /* the only layer is the whole root, on a mount of this sandbox alone */
	int upper_fd;      /* directory with upper/ and work/, or -1 for memory */
	bool upper_is_mount; /* upper_fd is a mount of this sandbox alone */
	bool upper_limited; /* the payload can fill the layer, so room is kept for the next start */
	uint64_t memory_mib;         /* size of the in-memory upper */
	struct rootfs_owner *owners; /* allocated, or NULL */
	size_t n_owners;
	int sys_fd, dev_fd;           /* see fixtures.h; or -1 */
	bool served;                  /* fuse-overlayfs unites the layers, not the kernel */
	int *volume_fd;               /* one per spec->mount; -1 for tmpfs, the mount for a disk */
	struct rootfs_hidden *hidden; /* allocated; outer places come first */
	size_t n_hidden;
	/* the text of /etc/profile with our block; NULL if the file of the image stays */
	char *profile;
	char *host_cas;          /* root certificates of the host, or NULL if not asked for */
	char *ca_bundle;         /* the root certificates of the image and of the host together */
	char *ca_place;          /* where the sandbox has the file with ca_bundle */
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

/* Returns the mount attributes for M. */
unsigned long rootfs_volume_attrs(const struct spec_mount *m, bool restricted);
/* Adds everything from opening trees to changing root. MAPS gets the trees whose ids must be mapped. If R->served,
 * DEVICE is the number of /dev/fuse in the child. GROUP is the control group that is shown read-only at /sys/fs/cgroup; it is
 * -1 if there is none, or if pid 1 mounts it (process/group_view.h). */
MUST_USE int rootfs_plan(const struct rootfs *r, int device, int group, struct plan *p,
			 struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps, struct err *e);
/* Does the same for the fuse-overlayfs that serves R. Its root has only the layers (if WRITES, also the writable layer)
 * and the libraries of the host. */
MUST_USE int rootfs_plan_fuse_overlay(const struct rootfs *r, bool writes, struct plan *p,
				      struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps,
				      struct err *e);
/* Writes the options of fuse-overlayfs, with the names that rootfs_plan_fuse_overlay() gives the layers. */
void rootfs_fuse_overlay_options(const struct rootfs *r, bool writes, struct buf *out);
