/*
 * What the process that reads peers gives up before it reads the first byte of a peer: every capability, every right on
 * files, and every system call that is not in tools/box.table. An attacker who takes it over can then do only what peers
 * may ask for.
 */
#pragma once

#include "base/confine.h"

MUST_USE int server_confine(struct err *e);

/* Compiled from tools/box.table. */
extern const struct sock_filter box_filter[];
extern const unsigned short box_filter_len;
