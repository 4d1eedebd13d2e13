/*
 * Finds the user who owns the other end of a TCP connection on this machine. It asks the kernel by sock_diag. A closed
 * socket shows user 0 and inode 0, so only an established socket with an inode is accepted.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

/* Returns the descriptor for the questions, or -errno. Must be called before the process gives up making sockets. */
MUST_USE int socket_owner_open(void);
/* Returns true if user UID owns the peer's end of FD. Both ends must be on this machine. */
bool socket_owner_is(int diag, int fd, unsigned uid);
