/*
 * Which ids a sandbox's users are outside, and how its two nested user namespaces are mapped.
 *
 * The outer namespace owns mounts, network, everything; the inner one, the payload's, has the same
 * ids but pid 1's, so the payload cannot name, signal or trace it. Files of /proc/1 must not belong
 * to the payload's root either. In a range of its own (root) the outer ids are the inner ones and
 * pid 1 has one beyond; its program is owned by an id no namespace of ours maps, which gives
 * /proc/1 to the host's root. With a sub-range (user) pid 1 is outer 0 and the payload's ids are
 * shifted by one. With a single id none of this is possible, and it hurts only the payload itself.
 *
 *            outer                                       inner                 pid 1
 *   range    0..65535 = BASE.., 65536 = BASE+65536       0..65535 = 0..65535   65536
 *   subid    0 = SUB+65535, 1 = CALLER, 2..65535 = SUB.. 0 = 1, 1..65534 = 2.. 0
 *   single   0 = CALLER                                  0 = 0                 0
 *
 * In the first case the outer namespace doubles as the id map of idmapped mounts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

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
};

/* What pid 1 becomes in the outer namespace: an id the inner map lacks, if there is one. */
static inline uint32_t ids_own(const struct ids *i)
{
	return i->mode == IDS_RANGE ? IDS_PER_SANDBOX : 0;
}

/* Outer id of the payload's root, and so the distance between inner and outer ids. */
static inline uint32_t ids_shift(const struct ids *i)
{
	return i->mode == IDS_SUBID ? 1 : 0;
}

/* The text of the inner maps. */
const char *ids_inner_map(const struct ids *i);

const char *ids_mode_name(enum ids_mode m);
/* Writes both maps of PID's namespace (child of ours). ERR_DENIED with what to change. */
MUST_USE int ids_write_maps(const struct ids *i, pid_t pid, struct err *e);
/* A user namespace in which id INSIDE_UID is host id OUTSIDE_UID (one id each): for volumes. */
MUST_USE int ids_one_to_one(uid_t inside_uid, uid_t outside_uid, gid_t inside_gid,
			    gid_t outside_gid, int *ret_fd, struct err *e);
/* Runs FN in a forked child that is root of a namespace with these ids; 0 when it returned 0. */
MUST_USE int ids_run(const struct ids *i, int (*fn)(void *arg), void *arg, struct err *e);
