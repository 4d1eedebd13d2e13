/*
 * The walls that a supervisor puts around itself. The supervisor confines itself while pid 1 boots,
 * before it reads anything that a command in the sandbox can influence. confine.c lists the rights
 * that the supervisor keeps, and why.
 */
#pragma once

#include <linux/filter.h>

#include "supervisor/supervisor.h"

/* Confines this process. The caller has opened the record and the sockets of S, and the engine has
 * sent the message BOOT to pid 1. */
MUST_USE int supervisor_confine(struct supervisor *s, struct err *e);

/* Compiled from tools/supervisor.table. A door_filter allows the supervisor to start a gateway, and
 * a closed_filter does not. The filters for root do not allow fchmodat(). Root can delete the files
 * of a sandbox whatever the modes of the directories are. The supervisor of an ordinary user may
 * first have to change such a mode. */
extern const struct sock_filter door_filter[], roots_door_filter[];
extern const unsigned short door_filter_len, roots_door_filter_len;
extern const struct sock_filter closed_filter[], roots_closed_filter[];
extern const unsigned short closed_filter_len, roots_closed_filter_len;
