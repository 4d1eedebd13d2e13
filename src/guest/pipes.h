/* Pipes that pid 1 reads for the log; see pipes.c. */
#pragma once

#include "guest/guest.h"

/* Takes over the pipe FD. From now on pid 1 reads it for the log of the command with the number
 * ID. */
void pipes_adopt(struct guest *g, int fd, uint64_t id, unsigned flags);
