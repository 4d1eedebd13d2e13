/*
 * The descriptor that a command's input comes from. Other processes may share it, so we must not make it non-blocking.
 * Another process may also read the bytes first. Our read would then wait, and we would not learn that our command has
 * ended. So each read of a pipe or socket asks the kernel not to wait.
 */
#pragma once

#include <stdbool.h>
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

/* Returns true if FD is /dev/null, or no descriptor at all. */
bool inlet_is_null(int fd);

/* Like read(2). */
ssize_t inlet_read(struct inlet *i, char *p, size_t n);
