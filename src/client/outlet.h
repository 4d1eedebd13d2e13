/*
 * A descriptor of ours to which a command's output goes. Other processes may share the descriptor,
 * so we must not make it non-blocking. Instead, each write to a pipe or socket asks the kernel not
 * to wait. If the descriptor does not take all bytes at once, the outlet keeps the rest, at most
 * one chunk. So a slow reader of one output delays neither the other output nor the input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUTLET_CHUNK_BYTES 65536

struct outlet {
	int fd; /* borrowed; -1: output is dropped */
	enum { OUTLET_UNSEEN, OUTLET_PLAIN, OUTLET_PIPE, OUTLET_SOCKET } kind;
	int own;      /* a second, non-blocking descriptor of a pipe, or -1 */
	bool widened; /* outlet_pass() has tried to enlarge its two pipes */
	bool full;
	char *rest; /* what the descriptor did not take */
	size_t rest_at, rest_n;
};

// clang-format off
#define OUTLET_NONE { .fd = -1, .own = -1 }
// clang-format on
void outlet_done(struct outlet *o);

/* Returns true if the outlet keeps bytes, or if the descriptor was full. In this case the caller
 * must wait until poll() finds the descriptor writable, and then call outlet_flush(). */
bool outlet_waits(const struct outlet *o);
/* Writes the N bytes at P, at most OUTLET_CHUNK_BYTES, and keeps what the descriptor does not take
 * now. Returns 0 or -errno. -EPIPE means that no process reads the output any more. */
int outlet_put(struct outlet *o, const char *p, size_t n);
int outlet_flush(struct outlet *o);
/* Moves what the pipe FROM holds to the outlet, without copying the bytes to our memory. Returns
 * how many bytes were moved. Returns 0 if FROM is empty, if the outlet is full or is no pipe, or
 * after an error. */
size_t outlet_pass(struct outlet *o, int from);
