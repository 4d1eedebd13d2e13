/* --trust-host-cas: the sandbox trusts the root certificates that the host trusts. */
#pragma once

#include "process/rootfs.h"

/* The paths at which images have the file with all root certificates, without the leading slash.
 * The last element is NULL. If an image has none of these files, the sandbox gets a file at the
 * first path. */
extern const char *const host_cas_places[];

/* Fills the members host_cas, ca_bundle and ca_place of *R from the files of this host and of the
 * image. */
MUST_USE int host_cas_read(struct rootfs *r, struct err *e);
