/*
 * Decides how long the client reads a command's pipes after pid 1 has reported the command's end. Pure state. The
 * client reads everything that the pipes held at the end, however slow the reader of its own output is. If a
 * background process still holds a pipe, the client reads on for a short time and then leaves the pipe to pid 1. If
 * the command left no background process, the client does not wait: a process that still holds the pipe then belongs
 * to another command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* we stop reading when background processes have printed nothing for this long */
#define DRAIN_SILENCE_NS 300000000ull
/* we read the output of background processes at most this long */
#define DRAIN_NS 1000000000ull

enum { DRAIN_OUT, DRAIN_ERR, DRAIN_STREAMS };

struct drain {
	bool alone;
	uint64_t until;
	uint64_t last; /* when output came last */
	/* how many of the bytes that a pipe held when the command ended are not read yet */
	uint64_t left[DRAIN_STREAMS];
};

/* ALONE: the command left no background process. If ALONE, NOW is not used. */
void drain_begin(struct drain *d, bool alone, uint64_t now_ns, uint64_t out_held,
		 uint64_t err_held);
/* Call this when N bytes of a stream were read. */
void drain_read(struct drain *d, unsigned stream, uint64_t n, uint64_t now_ns);
/* Returns true while the client must still read the pipes. */
bool drain_hears(const struct drain *d, uint64_t now_ns);
/* Returns true if no output came for DRAIN_SILENCE_NS. The client then leaves the pipes to pid 1. */
bool drain_is_silent(const struct drain *d, uint64_t now_ns);
