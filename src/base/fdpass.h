/* Sends and receives bytes and descriptors together over a unix socket. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define FDPASS_MAX 16

/* Sends all N bytes (N > 0); the descriptors travel with the first byte. SOCK must be blocking.
 * Returns 0 or -errno. */
MUST_USE int fdpass_send(int sock, const void *p, size_t n, const int *fds, unsigned n_fds);
/* Makes one sendmsg that does not wait. The call sends all descriptors together with the first
 * byte. Returns how many of the N bytes (N > 0) were sent, or -errno. -EAGAIN means that the socket
 * is full; it becomes writable later. -ETOOMANYREFS means that this user has sent too many
 * descriptors that nobody has received yet. No event reports when that changes. */
MUST_USE ssize_t fdpass_try(int sock, const void *p, size_t n, const int *fds, unsigned n_fds);
/* Makes one recvmsg. Returns the number of bytes, 0 at the end of the stream, or -errno.
 * Received descriptors (at most FDPASS_MAX) are close-on-exec. If more than MAX_FDS descriptors
 * came, closes all of them and returns -EPROTO. */
MUST_USE ssize_t fdpass_recv(int sock, void *p, size_t n, int *fds, unsigned max_fds,
			     unsigned *ret_n_fds);
