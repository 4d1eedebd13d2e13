/*
 * What the process that reads peers gives up once it is set up, before it reads the first byte of a stranger: every
 * capability, every right on files, every system call that is not in tools/box.table. Whoever takes it over can do no more
 * than the peers of the server may ask for anyway.
 */
#pragma once

#include "base/confine.h"

MUST_USE int server_confine(struct err *e);

/* Compiled from tools/box.table. */
extern const struct sock_filter box_filter[];
extern const unsigned short box_filter_len;
