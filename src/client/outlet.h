/*
 * Where a command's output goes: a descriptor of ours that other processes may share, so we must not make it
 * non-blocking. Instead, each write to a pipe or socket asks the kernel not to wait. The outlet keeps at most one chunk
 * of bytes that the descriptor does not take at once, so that a slow reader of one output holds up neither the other
 * output nor the input.
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
	bool widened; /* outlet_pass() has made its two pipes larger */
	bool full;
	char *rest; /* what the descriptor did not take */
	size_t rest_at, rest_n;
};

// clang-format off
#define OUTLET_NONE { .fd = -1, .own = -1 }
// clang-format on
void outlet_done(struct outlet *o);

/* Returns true if the outlet keeps bytes, or the descriptor was full. If so, the next call must be outlet_flush(), as
 * soon as poll() finds the descriptor writable. */
bool outlet_waits(const struct outlet *o);
/* Returns 0, or -errno if no process reads the output any more. N is OUTLET_CHUNK_BYTES at most. */
int outlet_put(struct outlet *o, const char *p, size_t n);
int outlet_flush(struct outlet *o);
/* Moves what the pipe FROM holds to the outlet inside the kernel. Returns how many bytes it moved; 0 if the outlet is
 * now full, or is no pipe. */
size_t outlet_pass(struct outlet *o, int from);
