/*
 * The descriptor from which we read the input of a command. Other processes may share the
 * descriptor, so we must not make it non-blocking. If such a process reads the bytes before we do,
 * a blocking read of ours would wait, and we would not learn that our command has ended. So each of
 * our reads from a pipe or socket asks the kernel not to wait.
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

/* Returns true if FD is /dev/null or is not open. */
bool inlet_is_null(int fd);

/* Works like read(2), but does not wait for bytes of a pipe or socket. */
ssize_t inlet_read(struct inlet *i, char *p, size_t n);
