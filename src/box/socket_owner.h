/*
 * Finds out which user owns the other end of a TCP connection on this machine. Asks the kernel
 * through sock_diag. A closed socket shows user 0 and inode 0, so only an established socket with
 * an inode is accepted.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

/* Returns a sock_diag socket, or -errno. Must be called before server_confine(), after which no
 * socket can be made. */
MUST_USE int socket_owner_open(void);
/* Returns true if user UID owns the peer's end of FD. Both ends must be on this machine. */
bool socket_owner_is(int diag, int fd, unsigned uid);
