/* A spinner that shows the elapsed time. It appears only on a terminal, and spinner_end() erases
 * it. The spinner has no timer. While s->on is true, the caller must call spinner_tick() every
 * SPINNER_MS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SPINNER_MS 100

struct spinner {
	bool on;
	uint64_t start_ns;
	const char *verb; /* verb and target are not copied; both must live until spinner_end() */
	const char *target;
};

/* Shows nothing if QUIET is true, or after say_set_quiet(true). */
void spinner_begin(struct spinner *s, bool quiet, const char *verb, const char *target);
/* Draws the spinner again. SPINNER points to a struct spinner; its type is void *, so that this
 * function can be the member tick of struct launch. */
void spinner_tick(void *spinner);
void spinner_end(struct spinner *s);
