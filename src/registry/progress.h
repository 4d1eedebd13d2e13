/*
 * One line per layer on a terminal, redrawn in place and wiped at the end; nothing elsewhere.
 *
 *   0123456789ab  ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  12.3 / 45.6 MiB  5.1 MiB/s  7s
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry/fetch.h"
#include "store/layers.h"

struct progress {
	bool on;
	unsigned n_lines; /* drawn last time */
	uint64_t start_ns, last_ns;
	uint64_t start_bytes; /* what was there before we began is no speed of ours */
};

void progress_begin(struct progress *p, bool quiet);
/* Draws when the last time is long enough ago. */
void progress_draw(struct progress *p, const struct fetch *f, const struct layers *l);
void progress_end(struct progress *p);
