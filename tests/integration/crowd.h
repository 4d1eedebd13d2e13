/* Runs many commands at once over many lines. A third of them send their input back, which is compared. A third print
 * on both outputs. A third are cancelled. */
#pragma once

#include "client/line.h"
#include "loop/loop.h"

struct crowd_plan {
	struct loop *loop;
	struct line **line; /* borrowed until the end */
	unsigned n_lines;
	unsigned each;    /* commands at once on each line */
	unsigned rounds;  /* 0 means no end */
	const char *mark; /* argument of `sleep` in commands that are cancelled */
	/* WRONG counts wrong outputs and statuses. */
	void (*end)(void *arg, unsigned wrong);
	void *arg;
};

/* Prints a line for each round. */
void crowd_start(const struct crowd_plan *p);
