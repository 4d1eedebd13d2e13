/*
 * Which ids a sandbox's users are outside, and how its two nested user namespaces are mapped.
 *
 * The outer namespace owns mounts, network, everything; the inner one is the payload's. Outer 0 is
 * pid 1 and nobody else: whatever the kernel gives to the root of the outer namespace (/proc/1, the
 * sysctls of its network and ipc namespaces) is then out of the payload's reach, and so is pid 1
 * itself. With a single id this is impossible, and it hurts only the payload.
 *
 *            outer                                        inner
 *   range    0 = BASE+65536, 1..65536 = BASE..            0..65535 = 1..65536
 *   subid    0 = SUB+65535, 1 = CALLER, 2..65535 = SUB..  0 = 1, 1..65534 = 2..65535
 *   single   0 = CALLER                                   0 = 0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/holder.h"
#include "base/spawn.h"

#define IDS_PER_SANDBOX 65536u
#define IDS_STRIDE (IDS_PER_SANDBOX + 1) /* and one for pid 1 */

enum ids_mode {
	IDS_RANGE,  /* root: a range of its own per sandbox */
	IDS_SUBID,  /* ordinary user with /etc/subuid: the caller is root inside */
	IDS_SINGLE, /* ordinary user without: one id, no chown to others */
};

struct ids {
	enum ids_mode mode;
	uint32_t uid_base, gid_base; /* RANGE: first id; SUBID: first of the sub-range */
	uid_t caller_uid;
	gid_t caller_gid;
	bool direct; /* SUBID without newuidmap: the ids are ours to map */
};

/* Outer id of the payload's root, and so the distance between inner and outer ids. */
static inline uint32_t ids_shift(const struct ids *i)
{
	return i->mode == IDS_SINGLE ? 0 : 1;
}

/* The text of the inner maps. */
const char *ids_inner_map(const struct ids *i);

const char *ids_mode_name(enum ids_mode m);
/* The kernel refused a namespace with ERRNUM: what to change. Always -1. */
int ids_refused(int errnum, struct err *e);
/* Writes both maps of PID's namespace (child of ours). ERR_DENIED with what to change. */
MUST_USE int ids_write_maps(const struct ids *i, pid_t pid, struct err *e);
/* The same in two calls: where programs do it, they run meanwhile. */
struct ids_writing {
	struct child helper[2];
};
MUST_USE int ids_begin_maps(const struct ids *i, pid_t pid, struct ids_writing *ret, struct err *e);
MUST_USE int ids_end_maps(struct ids_writing *w, struct err *e);
/* Of a range, for whoever shows the layers to it (fuse_overlay.h): the owners that they have on disk, which
 * are the host's first ids, go by the numbers of the range. */
MUST_USE int ids_write_reader_maps(const struct ids *i, pid_t pid, struct err *e);
/* A user namespace that exists to map mounts: ids INSIDE.. of the disk are OUTSIDE.. here. */
struct id_line {
	uint32_t inside, outside, count;
};
MUST_USE int ids_map_namespace(const struct id_line *uid, const struct id_line *gid, int *ret_fd,
			       struct err *e);
/* Maps the namespace that H holds and opens it. */
MUST_USE int ids_map_held(const struct holder *h, const struct id_line *uid,
			  const struct id_line *gid, int *ret_fd, struct err *e);
/* Runs FN in a forked child that is root of a namespace with these ids; 0 when it returned 0. */
MUST_USE int ids_run(const struct ids *i, int (*fn)(void *arg), void *arg, struct err *e);
