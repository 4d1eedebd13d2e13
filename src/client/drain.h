/*
 * Decides how long the client reads a command's pipes after pid 1 has reported the command's end.
 * This code only decides; it reads nothing itself. The client reads everything that the pipes held
 * when the command ended, even if the reader of the client's own output is slow. If a background
 * process still holds a pipe, the client reads on for a short time and then leaves the pipe to pid
 * 1. If the command left no background process, the client does not wait: a process that still
 * holds a pipe then belongs to another command.
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
	/* for each pipe: how many bytes were in the pipe at the command's end and are not read
	 * yet */
	uint64_t left[DRAIN_STREAMS];
};

/* ALONE is true if the command left no background process. If ALONE is true, NOW_NS is not used. */
void drain_begin(struct drain *d, bool alone, uint64_t now_ns, uint64_t out_held,
		 uint64_t err_held);
/* Call this when N bytes of a stream were read. */
void drain_read(struct drain *d, unsigned stream, uint64_t n, uint64_t now_ns);
/* Returns true while the client must still read the pipes. */
bool drain_hears(const struct drain *d, uint64_t now_ns);
/* Returns true if no output came for DRAIN_SILENCE_NS, or if the command left no background
 * process. The client then stops reading. If a background process still holds a pipe, the client
 * leaves the pipe to pid 1. */
bool drain_is_silent(const struct drain *d, uint64_t now_ns);
