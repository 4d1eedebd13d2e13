/*
 * Where a command's input comes from: a descriptor of ours that other processes may share, so we
 * must not make it non-blocking. We ask the kernel not to wait in each single read of a pipe or
 * socket: another process may have read the bytes first, and while we waited for more we could not
 * hear that our command has ended.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct inlet {
	int fd; /* borrowed */
	enum { INLET_UNSEEN, INLET_PLAIN, INLET_PIPE, INLET_SOCKET } kind;
	int own; /* a second, non-blocking descriptor of a pipe, or -1 */
};

// clang-format off
#define INLET_OF(f) { .fd = (f), .own = -1 }
// clang-format on
void inlet_done(struct inlet *i);

/* Like read(2). */
ssize_t inlet_read(struct inlet *i, char *p, size_t n);
