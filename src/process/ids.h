/*
 * Maps the ids in the two nested user namespaces of a sandbox to ids of the host.
 *
 * The outer namespace owns the sandbox's mounts, its network and all its other namespaces. The
 * payload is in the inner namespace. Only pid 1 has the outer id 0. The kernel gives some objects
 * to the root of the outer namespace, such as /proc/1 and the sysctls of its network and ipc
 * namespaces. The payload is not this root, so it cannot reach these objects or pid 1. In the mode
 * `single`, pid 1 and the payload have the same id, so the payload can attack pid 1. Such an attack
 * hurts only the sandbox itself.
 *
 * In this table, A = B means that the id A of the namespace is the id B of the namespace around it.
 * The host is around the outer namespace, and the outer namespace is around the inner one. BASE and
 * SUB are the first ids of ranges of host ids. CALLER is the id of the user who runs cordon.
 *
 *            outer                                        inner
 *   range    0 = BASE+65536, 1..65536 = BASE..            0..65535 = 1..65536
 *   subid    0 = SUB+65535, 1 = CALLER, 2..65535 = SUB..  0 = 1, 1..65534 = 2..65535
 *   single   0 = CALLER                                   0 = 0
 *
 * If the user N works inside (base/rotation.h), the inner namespace of `subid` is
 * N = 1, 0..N-1 = 2..N+1, N+1..65534 = N+2..65535.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/holder.h"
#include "base/rotation.h"
#include "base/spawn.h"

#define IDS_PER_SANDBOX 65536u
#define IDS_STRIDE (IDS_PER_SANDBOX + 1) /* each range has one more id, for pid 1 */

enum ids_mode {
	IDS_RANGE, /* if root runs cordon: each sandbox has its own range of ids */
	/* if a user with a range in /etc/subuid runs cordon: inside, this user is root, or the user
	 * that `rotation` names */
	IDS_SUBID,
	IDS_SINGLE, /* if a user without a range runs cordon: one id, no other users inside */
};

struct ids {
	enum ids_mode mode;
	uint32_t uid_base, gid_base; /* the first id of the range */
	uid_t caller_uid;
	gid_t caller_gid;
	/* IDS_SUBID: we may write the maps ourselves, without newuidmap */
	bool direct;
	struct rotation rotation; /* IDS_SUBID: the user who works inside; 0 in the other modes */
};

/* Returns the distance between inner and outer ids, if they are not rotated. With IDS_SUBID the
 * result is also the outer id of the user who runs cordon. */
static inline uint32_t ids_shift(const struct ids *i)
{
	return i->mode == IDS_SINGLE ? 0 : 1;
}

/* These two functions return the outer id of the payload's user UID and of the payload's group
 * GID. */
static inline uint32_t ids_outer_uid(const struct ids *i, uint32_t uid)
{
	return ids_shift(i) + rotation_place(i->rotation.uid, uid);
}

static inline uint32_t ids_outer_gid(const struct ids *i, uint32_t gid)
{
	return ids_shift(i) + rotation_place(i->rotation.gid, gid);
}

static inline bool ids_rotated(const struct ids *i)
{
	return i->rotation.uid || i->rotation.gid;
}

#define IDS_MAP_BYTES 64 /* three lines of three numbers with at most five digits */
/* Write the text of a map of the inner namespace. */
void ids_inner_uid_map(const struct ids *i, char out[IDS_MAP_BYTES]);
void ids_inner_gid_map(const struct ids *i, char out[IDS_MAP_BYTES]);

const char *ids_mode_name(enum ids_mode m);
/* Call this after the kernel refused to make a namespace, with the error ERRNUM. Fills *E. For the
 * usual errors, the hint of *E says what to change on the host. Always returns -1. */
int ids_refused(int errnum, struct err *e);
/* Writes both maps of the user namespace of our child PID. If newuidmap or newgidmap fails, the
 * error is ERR_DENIED with a hint. */
MUST_USE int ids_write_maps(const struct ids *i, pid_t pid, struct err *e);
/* ids_begin_maps() and ids_end_maps() together do the same as ids_write_maps(). If newuidmap is
 * needed, it runs between the two calls. */
struct ids_writing {
	struct child helper[2];
};
MUST_USE int ids_begin_maps(const struct ids *i, pid_t pid, struct ids_writing *ret, struct err *e);
MUST_USE int ids_end_maps(struct ids_writing *w, struct err *e);
/* Writes the maps of the reader (process/fuse_overlay.h), whose pid is PID. The reader then shows
 * the ids 0 to 65535 on disk as the ids of the range *I. */
MUST_USE int ids_write_reader_maps(const struct ids *i, pid_t pid, struct err *e);
/* One line of an id map of a user namespace, with the three numbers of a line of uid_map. The id
 * `inside` + N in the namespace is the id `outside` + N outside, for each N below `count`. If the
 * namespace is used for an id-mapped mount, a file with the id `inside` + N on disk appears in the
 * mount with the id `outside` + N. */
struct id_line {
	uint32_t inside, outside, count;
};
/* Makes a user namespace whose maps have the one line *UID and the one line *GID. *RET_FD is a
 * descriptor of this namespace. */
MUST_USE int ids_map_namespace(const struct id_line *uid, const struct id_line *gid, int *ret_fd,
			       struct err *e);
/* Does the same for the user namespace in which the holder *H waits: writes its maps and sets
 * *RET_FD. */
MUST_USE int ids_map_held(const struct holder *h, const struct id_line *uid,
			  const struct id_line *gid, int *ret_fd, struct err *e);
/* Runs FN in a forked child. The child is root of a user namespace that has the ids *I. Returns 0
 * if FN returned 0. */
MUST_USE int ids_run(const struct ids *i, int (*fn)(void *arg), void *arg, struct err *e);
