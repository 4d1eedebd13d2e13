/* Many commands at once over many lines: a third feeds a command and compares what comes back, a third prints on both
 * outputs, a third is cancelled. */
#pragma once

#include "client/line.h"
#include "loop/loop.h"

struct crowd_plan {
	struct loop *loop;
	struct line **line; /* borrowed until the end */
	unsigned n_lines;
	unsigned each;    /* commands at once on each line */
	unsigned rounds;  /* 0: without an end */
	const char *mark; /* commands that are cancelled sleep for so many seconds */
	/* WRONG commands had another output or status than they should. */
	void (*end)(void *arg, unsigned wrong);
	void *arg;
};

/* Prints a line for each round. */
void crowd_start(const struct crowd_plan *p);
