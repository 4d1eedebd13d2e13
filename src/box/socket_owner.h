/*
 * Whose socket is at the other end of a TCP connection on this machine. The kernel is asked by sock_diag. A socket that is
 * closed already shows user 0 and inode 0, so only an established one with an inode counts.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

/* The descriptor to ask with. It is opened before the process gives up making sockets. -errno. */
MUST_USE int socket_owner_open(void);
/* True if the peer of FD, a connection between two addresses of this machine, belongs to user UID. */
bool socket_owner_is(int diag, int fd, unsigned uid);
