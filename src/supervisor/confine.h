/*
 * The walls a supervisor puts around itself, while pid 1 boots and before it reads anything that a
 * command inside can influence. See confine.c for what it keeps and why.
 */
#pragma once

#include <linux/filter.h>

#include "supervisor/supervisor.h"

/* The record, the sockets and the control groups of S are there and open. */
MUST_USE int supervisor_confine(struct supervisor *s, struct err *e);

/* Compiled from tools/supervisor.table: with the door to the gateway, and without; for whoever can delete
 * any directory of the sandbox as it is, and for ordinary users. */
extern const struct sock_filter door_filter[], roots_door_filter[];
extern const unsigned short door_filter_len, roots_door_filter_len;
extern const struct sock_filter closed_filter[], roots_closed_filter[];
extern const unsigned short closed_filter_len, roots_closed_filter_len;
