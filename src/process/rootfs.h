/*
 * From a spec to the steps that build its root file system.
 *
 * Every source is opened here, in the parent, before the clone: by descriptor, so that nothing can
 * be swapped between the check and the mount. A parent that may mount (CAP_SYS_ADMIN) clones the
 * trees itself and maps their ids; otherwise the child clones them by canonical path and checks
 * that it got the inode the parent saw.
 */
#pragma once

#include "base/buf.h"
#include "process/ids.h"
#include "process/plan.h"
#include "spec/spec.h"

#define ROOTFS_LAYERS_MAX 500 /* the kernel's limit for overlay */

/* A tree whose ids must be mapped. */
enum tree_map_kind {
	MAP_NONE,
	MAP_SANDBOX,
	MAP_OWNER,
	MAP_LAYER,    /* as MAP_SANDBOX; where the file system cannot, the layer can be served */
	MAP_FIXTURES, /* as MAP_SANDBOX; where the file system cannot, their files belong to nobody */
};
struct tree_map {
	int tree;
	enum tree_map_kind kind;
	uid_t uid; /* MAP_OWNER: the source's owner */
	gid_t gid;
	uid_t inside_uid; /* … and who that is inside: root, unless asked otherwise */
	gid_t inside_gid;
};

#define TREE_MAPS_MAX PLAN_TREES_MAX

/* A directory of the new root and what it shall be; one that is not there need not be. */
struct rootfs_owner {
	char path[256];
	unsigned mode;
	uint32_t uid, gid; /* inside */
};

/* A place in a volume where our own state shows, which the sandbox must not see. */
struct rootfs_hidden {
	size_t mount; /* of spec->mount */
	char *below;  /* "/…", allocated */
};

struct rootfs {
	const struct spec *spec;
	const struct ids *ids;
	bool parent_mounts;              /* we hold CAP_SYS_ADMIN where our mounts are */
	int layer_fd[ROOTFS_LAYERS_MAX]; /* lowest first; `host`: its base; directory image: it */
	size_t n_layers;
	bool layers_shown; /* layer_fd[0] is a mount with all of them in it, see fuse_overlay.h */
	bool one_disk; /* the only layer is the whole root: a mount of its own, as upper_is_mount */
	int upper_fd;  /* directory with upper/ and work/, or -1: in memory */
	bool upper_is_mount; /* it is a mount of its own, which nobody else has */
	bool upper_limited;  /* the payload can fill it: a start must find room for its own needs */
	uint64_t memory_mib; /* size of the in-memory upper */
	struct rootfs_owner *owners; /* allocated, or NULL */
	size_t n_owners;
	int sys_fd, dev_fd; /* see fixtures.h; or -1 */
	bool served;        /* the union of both is fuse-overlayfs's, not the kernel's */
	int *volume_fd;     /* one per spec->mount, -1 for tmpfs; a disk: a mount of its own */
	struct rootfs_hidden *hidden; /* allocated, or NULL; an outer one comes first */
	size_t n_hidden;
	char *profile;      /* text of /etc/profile with our block, or NULL: leave the image's */
	char *host_cas;     /* root certificates of the host, or NULL: not asked for */
	char *ca_bundle;    /* the image's and the host's */
	char *ca_place;     /* the file that holds them inside */
	int fallback_shell; /* a static bash for an image without one, or -1 */
	const char *resolv_conf; /* text of /etc/resolv.conf, or NULL: no network */
	const char *hosts_line;  /* added to /etc/hosts, or NULL */
	char hostname[SPEC_HOSTNAME_MAX_BYTES + 1];
};

/* The kernel's overlay unites the layers of R. */
static inline bool rootfs_is_overlay(const struct rootfs *r)
{
	return !r->served && !r->one_disk && r->spec->image.kind != IMAGE_DIR;
}

/* Attributes of the mount of M. */
unsigned long rootfs_volume_attrs(const struct spec_mount *m, bool restricted);
/* Adds everything from opening trees to changing root. IDMAPS gets the trees to map. DEVICE: where
 * R->served, the number that /dev/fuse has in the child. */
MUST_USE int rootfs_plan(const struct rootfs *r, int device, struct plan *p,
			 struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps, struct err *e);
/* The same for whoever serves R: a root that holds the layers (with WRITES the writable one too), what a
 * dynamic program needs to start, and nothing else of the host. */
MUST_USE int rootfs_plan_fuse_overlay(const struct rootfs *r, bool writes, struct plan *p,
				      struct tree_map maps[TREE_MAPS_MAX], size_t *ret_n_maps,
				      struct err *e);
/* What it is told: where rootfs_plan_fuse_overlay() has put everything. */
void rootfs_fuse_overlay_options(const struct rootfs *r, bool writes, struct buf *out);
