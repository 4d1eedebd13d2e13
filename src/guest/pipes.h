/* Left-over pipes; see pipes.c. */
#pragma once

#include "guest/guest.h"

/* Reads FD on for command ID; takes it. */
void pipes_adopt(struct guest *g, int fd, uint64_t id, unsigned flags);
