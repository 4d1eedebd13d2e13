/*
 * How long the client reads a command's pipes after pid 1 told the command's end, as pure state. What the pipes held at
 * the end belongs to the caller, however slow the caller's own reader is. A background process that still holds a pipe
 * gets a short while to go on talking; after that pid 1 reads the pipe. If the command left no background process,
 * whatever still arrives on these pipes belongs to another command, and the client does not wait for it.
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
	/* how many bytes a pipe held at the end that we have not read yet */
	uint64_t left[DRAIN_STREAMS];
};

/* ALONE: the command left no background process; NOW is not used then. */
void drain_begin(struct drain *d, bool alone, uint64_t now_ns, uint64_t out_held,
		 uint64_t err_held);
/* Call this when N bytes of a stream were read. */
void drain_read(struct drain *d, unsigned stream, uint64_t n, uint64_t now_ns);
/* True while the client still reads the pipes. */
bool drain_hears(const struct drain *d, uint64_t now_ns);
/* True if nothing came for long enough: pid 1 reads on for the processes that still hold the pipes. */
bool drain_is_silent(const struct drain *d, uint64_t now_ns);
