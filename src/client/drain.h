/*
 * What is still read of a command's pipes after its end was told, as pure state. What the pipes held at the
 * end belongs to the caller, however slow the caller's own reader is. A background process that still holds
 * a pipe gets a short while to go on talking; pid 1 reads on after that. If the command left no background
 * process, whatever still arrives on these pipes belongs to another command, and nobody waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DRAIN_SILENCE_NS 300000000ull /* how long background processes may stay mute */
#define DRAIN_NS 1000000000ull        /* … and how long they may go on talking to us */

enum { DRAIN_OUT, DRAIN_ERR, DRAIN_STREAMS };

struct drain {
	bool alone;
	uint64_t until;
	uint64_t last;                /* when output came last */
	uint64_t left[DRAIN_STREAMS]; /* what a pipe held at the end and has not been read */
};

/* NOW counts only if the command was not alone. */
void drain_begin(struct drain *d, bool alone, uint64_t now_ns, uint64_t out_held,
		 uint64_t err_held);
/* N bytes of a stream were read. */
void drain_read(struct drain *d, unsigned stream, uint64_t n, uint64_t now_ns);
/* The pipes are read on. */
bool drain_hears(const struct drain *d, uint64_t now_ns);
/* Nothing came in a long enough while: whoever still holds the pipes is pid 1's to read. */
bool drain_is_silent(const struct drain *d, uint64_t now_ns);
