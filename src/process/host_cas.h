/* --trust-host-cas: the sandbox trusts the root certificates that the host trusts. */
#pragma once

#include "process/rootfs.h"

/* The paths, without the leading slash, at which images keep the file with all root certificates; ended by NULL. If
 * an image has none of these files, the first is made. */
extern const char *const host_cas_places[];

/* Fills host_cas, ca_bundle and ca_place of R, from the files of this host and of the image. */
MUST_USE int host_cas_read(struct rootfs *r, struct err *e);
