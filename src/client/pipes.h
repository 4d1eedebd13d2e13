/* The pipes of a command. The client makes them and passes the command's ends to pid 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct pipes {
	int in[2], out[2], err[2];
};

/* Makes the pipes; our ends do not block. With JOINED there is no pipe for stderr. Returns 0, or
 * -errno with nothing left open. */
MUST_USE int pipes_open(struct pipes *p, bool joined);
void pipes_done(struct pipes *p);

/* Returns how many bytes wait in the pipe FD; 0 if FD is -1. */
uint64_t pipe_held(int fd);
/* Fills FDS with the open ones (not -1) of the read ends OUT and ERR. The caller sends them to pid 1, which goes on
 * reading them. *RET_FLAGS are the flags of the LEAVE frame that carries them. Returns the number of ends in FDS. */
unsigned pipes_to_leave(int out, int err, bool joined, int fds[2], unsigned *ret_flags);
