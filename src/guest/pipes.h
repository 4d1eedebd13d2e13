/* Pipes that pid 1 reads for the log; see pipes.c. */
#pragma once

#include "guest/guest.h"

/* Takes FD and reads it from now on, for the log of command ID. */
void pipes_adopt(struct guest *g, int fd, uint64_t id, unsigned flags);
