/* --trust-host-cas: what the host trusts, the sandbox trusts too. */
#pragma once

#include "process/rootfs.h"

/* Where images keep the one file with all root certificates, without the leading slash; ended by NULL. The
 * first is made where there is none. */
extern const char *const host_cas_places[];

/* Fills host_cas, ca_bundle and ca_place of R from this host and the image's own file. */
MUST_USE int host_cas_read(struct rootfs *r, struct err *e);
