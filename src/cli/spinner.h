/* A spinner with the elapsed time, shown only on a terminal and erased at its end. It has no timer: a caller that
 * waits calls spinner_tick() every SPINNER_MS while s->on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SPINNER_MS 100

struct spinner {
	bool on;
	uint64_t start_ns;
	const char *verb; /* verb and target are borrowed until spinner_end() */
	const char *target;
};

/* Shows nothing if QUIET, or after say_set_quiet(). */
void spinner_begin(struct spinner *s, bool quiet, const char *verb, const char *target);
void spinner_tick(void *spinner); /* takes a struct spinner; can be launch.tick */
void spinner_end(struct spinner *s);
