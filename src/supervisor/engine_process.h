/* What the files of the process engine share. Only they include this. */
#pragma once

#include "image/store.h"
#include "process/process.h"
#include "supervisor/disk.h"
#include "supervisor/engine.h"
#include "supervisor/engine_process_mount_points.h"
#include "supervisor/engine_process_nested.h"
#include "supervisor/supervisor.h"

/* What only a start needs. It is freed after READY: the child shares our memory, and freeing would interrupt it. */
struct engine_process_start {
	struct process_request request;
	char group_id[HOME_ID_BYTES];
	struct netif netif;
	/* text of /etc/resolv.conf, and a line of /etc/hosts, inside */
	struct buf resolv_conf, hosts_line;
};

struct engine_process {
	struct engine_instance instance; /* first: S->instance points to it */
	/* we may mount in our own mount namespace: true for root outside of containers */
	bool parent_mounts;
	struct ids ids;
	struct process_instance process;
	struct engine_process_start *start; /* NULL after READY */
	/* the mount points that we made in a directory image */
	struct mount_points mount_points;
	/* the mount points that we made in writable volumes */
	struct nested nested;
	struct disks disks;
	/* how the size of the writable layer is enforced; NULL: the sandbox has no such layer */
	const char *layer;
	/* watch the ends of the writer and the reader (process/fuse_overlay.h) */
	loop_id fuse_watch[2];
};

static inline struct engine_process *engine_process_of(const struct supervisor *s)
{
	return (struct engine_process *)s->instance;
}

/* engine_process_ids.c: true if we are root, but not of a container. */
bool ids_may_mount(void);
/* True if we can also give each sandbox a range of ids of its own. */
bool ids_have_range(const struct engine_process *p);
/* Chooses the ids of the sandbox. Claims a range, if it gets one, and writes that into its record. */
MUST_USE int ids_choose(struct supervisor *s, struct err *e);
/* The ids of every sandbox of an ordinary user. */
void ids_of_user(struct ids *ret);

/* engine_process_rootfs.c: from the record to open layers, volumes and files. */
void root_init(const struct supervisor *s, struct rootfs *r);
MUST_USE int root_open(struct supervisor *s, struct rootfs *r, struct err *e);
void root_close(struct rootfs *r);
/* Finds the image by the digest in our record: its name may mean another image by now. A command that removes
 * images takes the same lock: either it sees our record, or it has removed the image before and this fails. */
MUST_USE int root_find_image(const struct supervisor *s, int *ret_lock, struct image_record *ret,
			     struct err *e);

/* engine_process_layer.c: opens the writable layer and enters it in R. */
#define LAYER_MEMORY "tmpfs" /* how the size of a layer in memory is enforced */
MUST_USE int layer_open(struct supervisor *s, struct rootfs *r, struct err *e);
/* The same for --root-disk flat: one disk has everything and is the only layer of R. */
MUST_USE int layer_open_flat(struct supervisor *s, struct rootfs *r, struct err *e);
/* Empties the work area of R's layer, if the layer is on disk. No overlay may use it during the
 * call. */
MUST_USE int layer_clean(const struct rootfs *r, struct err *e);

/* engine_process_own_state.c: lists in R the places where volumes show our own state, or refuses the volume. */
MUST_USE int own_state_find(const struct supervisor *s, struct rootfs *r, struct err *e);

/* engine_process_limits.c */
/* The control groups are made. Writes into the record how each limit holds. If a control group
 * does not hold a limit that the user asked for, BOOT tells pid 1 to enforce it. */
MUST_USE int limits_apply(struct supervisor *s, struct boot_message *boot, struct err *e);
struct cgroup_limits limits_of(const struct spec *spec);
/* These two functions are operations of struct engine. */
MUST_USE int limits_update(struct supervisor *s, const struct spec *now, unsigned what,
			   struct err *e);
void limits_usage(const struct supervisor *s, struct usage_message *u);

/* engine_process_boot.c: completes BOOT and sends it to pid 1, with the sockets of S and the control groups. */
MUST_USE int boot_send(struct supervisor *s, struct boot_message *boot, struct err *e);
