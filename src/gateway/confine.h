/*
 * The walls a gateway puts around itself, in stages.
 *
 *   start       may do what its caller may: read the configuration and resolv.conf, bind ports
 *   configured  confine(): ids given up, no capability, no file reachable (Landlock), few descriptors
 *   serving     system calls limited to sockets of the internet families, reading and writing what
 *               is open, memory and time; no file, process or namespace call exists any more
 *
 * confine() does the last two at once, before the first frame of the guest is read. Anything that
 * fails is an error: a gateway does not serve half confined. Landlock alone may be missing on the
 * host; the filter has no call left that takes a path.
 */
#pragma once

#include "gateway/config.h"

MUST_USE int confine(const struct gateway_config *c, struct err *e);
