/* Pipes that pid 1 reads for the log; see pipes.c. */
#pragma once

#include "guest/guest.h"

/* Takes over the pipe FD. From now on pid 1 reads this pipe for the log of the command with the
 * number ID. FLAGS says which output the pipe carries: 0 for standard output, FRAME_FLAG_STDERR, or
 * FRAME_FLAG_JOINED. */
void pipes_adopt(struct guest *g, int fd, uint64_t id, unsigned flags);
