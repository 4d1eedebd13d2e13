/*
 * Maps the ids of a sandbox in its two nested user namespaces to ids outside.
 *
 * The outer namespace owns mounts, network and everything else; the payload is in the inner namespace.
 * Only pid 1 has the outer id 0. The kernel gives some objects to the root of the outer namespace, such
 * as /proc/1 and the sysctls of its network and ipc namespaces: the payload cannot reach these, and
 * cannot reach pid 1. With a single id, pid 1 and the payload have the same id; a payload that attacks
 * its pid 1 then hurts only its own sandbox.
 *
 *            outer                                        inner
 *   range    0 = BASE+65536, 1..65536 = BASE..            0..65535 = 1..65536
 *   subid    0 = SUB+65535, 1 = CALLER, 2..65535 = SUB..  0 = 1, 1..65534 = 2..65535
 *   subid, if the user N works inside (base/rotation.h)   N = 1, 0..N-1 = 2..N+1, N+1..65534 = N+2..65535
 *   single   0 = CALLER                                   0 = 0
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
	IDS_RANGE,  /* root: each sandbox has a range of its own */
	IDS_SUBID,  /* a user in /etc/subuid: the caller is root inside */
	IDS_SINGLE, /* a user without a range: one id, no other users inside */
};

struct ids {
	enum ids_mode mode;
	uint32_t uid_base, gid_base; /* first id of the range or sub-range */
	uid_t caller_uid;
	gid_t caller_gid;
	bool direct;              /* SUBID: we may write the maps ourselves, without newuidmap */
	struct rotation rotation; /* SUBID: the user who works inside; 0 in the other modes */
};

/* Returns the distance between inner and outer ids, without rotation. With SUBID it is the outer id of the caller. */
static inline uint32_t ids_shift(const struct ids *i)
{
	return i->mode == IDS_SINGLE ? 0 : 1;
}

/* Return the outer ids of the payload's user UID and group GID. */
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
/* Fills E after the kernel refused a namespace with ERRNUM, with a hint what to change on the host.
 * Always returns -1. */
int ids_refused(int errnum, struct err *e);
/* Writes both maps of the user namespace of our child PID. Fails with ERR_DENIED and a hint. */
MUST_USE int ids_write_maps(const struct ids *i, pid_t pid, struct err *e);
/* ids_begin_maps() and ids_end_maps() do the same in two calls. newuidmap, if needed, runs in between. */
struct ids_writing {
	struct child helper[2];
};
MUST_USE int ids_begin_maps(const struct ids *i, pid_t pid, struct ids_writing *ret, struct err *e);
MUST_USE int ids_end_maps(struct ids_writing *w, struct err *e);
/* Writes the maps of the reader (fuse_overlay.h). Files that have the ids 0 to 65535 on disk then appear with the ids
 * of the range I. */
MUST_USE int ids_write_reader_maps(const struct ids *i, pid_t pid, struct err *e);
/* One line of an id map for mounts, of COUNT ids. The id INSIDE + N of a file on disk appears as OUTSIDE + N. */
struct id_line {
	uint32_t inside, outside, count;
};
MUST_USE int ids_map_namespace(const struct id_line *uid, const struct id_line *gid, int *ret_fd,
			       struct err *e);
/* Writes the maps of the user namespace that H holds, and opens the namespace. */
MUST_USE int ids_map_held(const struct holder *h, const struct id_line *uid,
			  const struct id_line *gid, int *ret_fd, struct err *e);
/* Runs FN in a forked child that is root of a user namespace with the ids of I. Returns 0 if FN
 * returned 0. */
MUST_USE int ids_run(const struct ids *i, int (*fn)(void *arg), void *arg, struct err *e);
