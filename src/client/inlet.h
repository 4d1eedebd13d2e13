/*
 * Where a command's input comes from: a descriptor of ours that others may read too, so it cannot be told
 * not to wait. Pipes and sockets are asked for each read not to wait: another reader may have been faster,
 * and the end of our command must be heard meanwhile.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct inlet {
	int fd; /* borrowed */
	enum { INLET_UNSEEN, INLET_PLAIN, INLET_PIPE, INLET_SOCKET } kind;
	int own; /* a second descriptor of a pipe, which does not wait, or -1 */
};

// clang-format off
#define INLET_OF(f) { .fd = (f), .own = -1 }
// clang-format on
void inlet_done(struct inlet *i);

/* As read(2). */
ssize_t inlet_read(struct inlet *i, char *p, size_t n);
