/*
 * Shows one line per layer and a total on a terminal, redraws the lines in place and wipes them at
 * the end. Shows nothing when stderr is not a terminal. The line of the total looks like this:
 *
 *          total  ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  12.3 / 45.6 MiB  5.1 MiB/s  7s
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry/fetch.h"
#include "store/layers.h"

struct progress {
	bool on;
	unsigned n_lines; /* number of lines drawn last time */
	uint64_t start_ns, last_ns;
	/* bytes that were fetched before the first drawing; they do not count for the speed */
	uint64_t start_bytes;
};

void progress_begin(struct progress *p, bool quiet, const char *reference);
/* Draws the lines again if enough time has passed since the last drawing. */
void progress_draw(struct progress *p, const struct fetch *f, const struct layers *l);
void progress_end(struct progress *p);
