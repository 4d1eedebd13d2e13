/* The pipes of a command. The client makes these pipes and passes the command's ends to pid 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct pipes {
	int in[2], out[2], err[2];
};

/* Makes the pipes; our ends are non-blocking. If JOINED is true, makes no pipe for stderr.
 * Returns 0, or -errno; after a failure no pipe is open. */
MUST_USE int pipes_open(struct pipes *p, bool joined);
void pipes_done(struct pipes *p);

/* Returns how many bytes wait in the pipe FD; 0 if FD is -1. */
uint64_t pipe_held(int fd);
/* OUT and ERR are the read ends of the command's output, or -1. Writes the open ends to FDS and
 * returns their number. The caller sends these ends to pid 1 in a frame LEAVE, and pid 1 goes on
 * reading them. *RET_FLAGS are the flags for this frame. */
unsigned pipes_to_leave(int out, int err, bool joined, int fds[2], unsigned *ret_flags);
