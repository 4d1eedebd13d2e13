/* Bytes and descriptors together over a unix socket. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define FDPASS_MAX 16

/* Sends all N bytes (N > 0); the descriptors travel with the first. Blocking sockets. 0 or -errno. */
MUST_USE int fdpass_send(int sock, const void *p, size_t n, const int *fds, unsigned n_fds);
/* One recvmsg: bytes received, 0 at the end, -errno. At most FDPASS_MAX descriptors, close-on-exec;
 * more than MAX_FDS is -EPROTO and closes them all. */
MUST_USE ssize_t fdpass_recv(int sock, void *p, size_t n, int *fds, unsigned max_fds,
			     unsigned *ret_n_fds);
