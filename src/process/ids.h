/*
 * Which ids a sandbox's users are outside, and how its two nested user namespaces are mapped.
 *
 * Outer namespace (owns mounts, network, everything): 0..count-1 are the payload's ids, and where
 * there is room one id more, `own`, which pid 1 runs under. Inner namespace (the payload's): the
 * same ids without pid 1's, so the payload cannot name, signal or trace it. The outer namespace
 * doubles as the id map of idmapped mounts.
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

static inline uint32_t ids_count(const struct ids *i)
{
	return i->mode == IDS_SINGLE ? 1 : IDS_PER_SANDBOX;
}

/* What pid 1 becomes in the outer namespace: an id the inner map lacks, if there is one. */
static inline uint32_t ids_own(const struct ids *i)
{
	return i->mode == IDS_SINGLE ? 0 : IDS_PER_SANDBOX;
}

const char *ids_mode_name(enum ids_mode m);
/* Writes both maps of PID's namespace (child of ours). ERR_DENIED with what to change. */
MUST_USE int ids_write_maps(const struct ids *i, pid_t pid, struct err *e);
/* A user namespace in which id INSIDE_UID is host id OUTSIDE_UID (one id each): for volumes. */
MUST_USE int ids_one_to_one(uid_t inside_uid, uid_t outside_uid, gid_t inside_gid,
			    gid_t outside_gid, int *ret_fd, struct err *e);
