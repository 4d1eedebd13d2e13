/* Runs many commands at once over many lines. One third of the commands send their input back, and
 * this code compares the output with the input. One third print to stdout and stderr. One third are
 * cancelled. */
#pragma once

#include "client/line.h"
#include "loop/loop.h"

struct crowd_plan {
	struct loop *loop;
	struct line **line; /* borrowed until the crowd has ended */
	unsigned n_lines;
	unsigned each;    /* commands at once on each line */
	unsigned rounds;  /* 0 means no end */
	const char *mark; /* argument of `sleep` in commands that are cancelled */
	/* Called when all rounds have ended. WRONG is the number of wrong outputs and statuses. */
	void (*end)(void *arg, unsigned wrong);
	void *arg;
};

/* Starts the crowd, which prints a line for each round. */
void crowd_start(const struct crowd_plan *p);
