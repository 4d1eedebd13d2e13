/*
 * The restrictions that a gateway sets on itself. There are three stages:
 *
 *   start       it has its caller's rights: it reads the configuration and resolv.conf, and binds
 *               ports
 *   configured  it has given up all capabilities and, if the configuration names other ids, its
 *               own ids; it can open no file (Landlock) and may have only a limited number of
 *               descriptors
 *   serving     its system calls are limited to sockets of the internet families, reading and
 *               writing open descriptors, memory and time; it has no call for files, processes or
 *               namespaces
 *
 * confine() does the last two stages together, before the gateway reads the first frame of the
 * guest. If a step fails, the gateway ends. Only Landlock may be missing on the host, because the
 * filter of system calls allows no call that takes a path anyway.
 */
#pragma once

#include "base/confine.h"
#include "gateway/config.h"

/* made from tools/gateway.table */
extern const struct sock_filter gateway_filter[];
extern const unsigned short gateway_filter_len;

MUST_USE int confine(const struct gateway_config *c, struct err *e);
