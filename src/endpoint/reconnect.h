/*
 * Decides when a lost connection to a Box server is made again. This is a state machine without a
 * clock and without I/O: the caller passes monotonic times.
 *
 * A loss begins a loop of attempts. The first attempt begins after a delay. Each failed attempt
 * doubles the delay, up to RECONNECT_MAX_NS. Only one loop runs at a time. No attempt begins after
 * the time UNTIL_NS. After reconnect_end() no attempt begins at all; call it when the service is
 * disabled or shuts down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RECONNECT_MAX_NS 60000000000ull
#define RECONNECT_FOR_EVER UINT64_MAX /* for UNTIL_NS: never give up */

enum reconnect_state {
	RECONNECT_UP,      /* connected, or reconnect_lost() was not called yet */
	RECONNECT_WAITING, /* unavailable; the next attempt begins at at_ns */
	RECONNECT_TRYING,  /* unavailable; an attempt runs */
	RECONNECT_OVER,    /* nothing begins any more */
};

struct reconnect {
	enum reconnect_state state;
	uint64_t first_ns; /* the first delay */
	uint64_t until_ns; /* no attempt begins after this time */
	uint64_t delay_ns; /* the delay before the next attempt */
	uint64_t at_ns;    /* when the next attempt begins */
};

void reconnect_init(struct reconnect *r, uint64_t first_ns, uint64_t until_ns);
/* Call this when the connection is lost, or when the very first connection, which no loop makes,
 * has failed. Returns true if a loop begins; the state is then RECONNECT_WAITING. Returns false if
 * a loop runs already, if no attempt can begin in time, or if the state is RECONNECT_OVER. */
bool reconnect_lost(struct reconnect *r, uint64_t now_ns);
/* Begins the attempt that the loop waits for. Returns false if its time has not come. */
bool reconnect_try(struct reconnect *r, uint64_t now_ns);
/* Call this when the attempt has failed. Returns true if the loop waits for the next attempt, or
 * false if the loop gives up. */
bool reconnect_failed(struct reconnect *r, uint64_t now_ns);
/* Call this when the attempt has succeeded. The next loss begins with the first delay. */
void reconnect_succeeded(struct reconnect *r);
/* No loop begins any more, and a running loop ends. */
void reconnect_end(struct reconnect *r);
