/*
 * Before the server process reads the first byte of a peer, it gives up every capability, every
 * right on files, and every system call that is not in tools/box.table. If an attacker later
 * controls the process, the attacker can do only what peers may ask for.
 */
#pragma once

#include "base/confine.h"

MUST_USE int server_confine(struct err *e);

/* Compiled from tools/box.table. */
extern const struct sock_filter box_filter[];
extern const unsigned short box_filter_len;
