/* Declarations for the files engine_process*.c. No other file includes this. */
#pragma once

#include "image/store.h"
#include "process/process.h"
#include "supervisor/disk.h"
#include "supervisor/engine.h"
#include "supervisor/engine_process_mount_points.h"
#include "supervisor/engine_process_nested.h"
#include "supervisor/supervisor.h"

/* The data that only a start needs. The child shares our memory until READY, so the data is freed
 * after READY. */
struct engine_process_start {
	struct process_request request;
	char group_id[HOME_ID_BYTES];
	struct netif netif;
	/* in the sandbox: the text of /etc/resolv.conf, and a line of /etc/hosts */
	struct buf resolv_conf, hosts_line;
};

struct engine_process {
	struct engine_instance instance; /* must be first: S->instance points here */
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
	/* if the lowest layer has rotated owners (process/host_image.h): a descriptor that keeps
	 * the layer from being removed; else -1 */
	int lowest_layer;
	/* how the size of the writable layer is enforced; NULL if the sandbox has no writable
	 * layer */
	const char *layer;
	/* watches for the end of the two fuse-overlayfs processes, the writer and the reader
	 * (process/fuse_overlay.h) */
	loop_id fuse_watch[2];
};

static inline struct engine_process *engine_process_of(const struct supervisor *s)
{
	return (struct engine_process *)s->instance;
}

/* engine_process_ids.c. Returns true if we can give each sandbox its own range of ids. */
bool ids_have_range(const struct engine_process *p);
/* Chooses the ids of the sandbox. If the sandbox gets a range of its own, claims the range and
 * writes it into the record. */
MUST_USE int ids_choose(struct supervisor *s, struct err *e);
/* Fills RET with the ids of every sandbox of an ordinary user. */
void ids_of_user(struct ids *ret);

/* engine_process_rootfs.c: from the record to open layers, volumes and files. */
void root_init(const struct supervisor *s, struct rootfs *r);
MUST_USE int root_open(struct supervisor *s, struct rootfs *r, struct err *e);
void root_close(struct rootfs *r);
/* Finds the image by the digest in our record, because the image's name may mean another image by
 * now. Takes the lock that commands take to remove images. So a command that removes images either
 * sees our record, or has removed the image before this call. */
MUST_USE int root_find_image(const struct supervisor *s, int *ret_lock, struct image_record *ret,
			     struct err *e);

/* engine_process_layer.c: opens the writable layer and enters it in R. */
#define LAYER_MEMORY "tmpfs" /* the record says with this word that the layer is in memory */
MUST_USE int layer_open(struct supervisor *s, struct rootfs *r, struct err *e);
/* Opens the disk of --root-disk flat, which holds the whole root and is the only layer of R. */
MUST_USE int layer_open_flat(struct supervisor *s, struct rootfs *r, struct err *e);
/* Empties the work area of R's layer, if the layer is on disk. No overlay may use the work area
 * during the call. */
MUST_USE int layer_clean(const struct rootfs *r, struct err *e);

/* engine_process_own_state.c: lists in R the places where volumes show our own state. Fails if a
 * volume is inside our state. */
MUST_USE int own_state_find(const struct supervisor *s, struct rootfs *r, struct err *e);

/* engine_process_limits.c */
/* Writes into the record how each limit is enforced. The control groups exist already. If no group
 * enforces a limit that the user asked for, fills BOOT so that pid 1 enforces this limit. */
MUST_USE int limits_apply(struct supervisor *s, struct boot_message *boot, struct err *e);
struct cgroup_limits limits_of(const struct spec *spec);
/* limits_update() and limits_usage() are operations of struct engine (supervisor/engine.h). */
MUST_USE int limits_update(struct supervisor *s, const struct spec *now, unsigned what,
			   struct err *e);
void limits_usage(const struct supervisor *s, struct usage_message *u);

/* engine_process_boot.c: completes BOOT and sends it to pid 1, with the sockets of S and the
 * control groups. */
MUST_USE int boot_send(struct supervisor *s, struct boot_message *boot, struct err *e);
