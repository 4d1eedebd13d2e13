/*
 * Where a command's output goes: a descriptor of ours that is others' too, so it cannot be told not to
 * wait. Nothing here waits where the kernel can be asked for that write by write, in pipes and sockets:
 * what is not taken at once is kept, a chunk at most, and a slow reader of one output holds up neither
 * the other one nor the input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define OUTLET_CHUNK_BYTES 65536

struct outlet {
	int fd; /* borrowed, or -1: what comes is dropped */
	enum { OUTLET_UNSEEN, OUTLET_PLAIN, OUTLET_PIPE, OUTLET_SOCKET } kind;
	int own;      /* a second descriptor of a pipe, which does not wait, or -1 */
	bool widened; /* both pipes were made larger */
	bool full;
	char *rest; /* what it did not take */
	size_t rest_at, rest_n;
};

// clang-format off
#define OUTLET_NONE { .fd = -1, .own = -1 }
// clang-format on
void outlet_done(struct outlet *o);

/* Something is kept, or it was full: call outlet_flush() when poll() finds it writable, and nothing else before. */
bool outlet_waits(const struct outlet *o);
/* 0, or -errno: nobody takes it any more. N is OUTLET_CHUNK_BYTES at most. */
int outlet_put(struct outlet *o, const char *p, size_t n);
int outlet_flush(struct outlet *o);
/* Has what the pipe FROM holds go to the outlet's without passing through us. How many bytes did; 0 when it waits
 * now, or is no pipe. */
size_t outlet_pass(struct outlet *o, int from);
