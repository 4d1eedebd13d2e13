/*
 * A descriptor that gets the signals SIGTERM, SIGINT and SIGHUP. While an interrupt is open, these
 * signals do not kill the program, so that the program can end the server that it started.
 *
 * Blocking a signal affects the whole process, so only a program may decide to do so, not a
 * library. The program bin/cordon-tool.c has the functions that open and close an interrupt, and
 * passes them to this room (struct interrupts).
 */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "base/err.h"

struct interrupt {
	int fd; /* non-blocking; readable when a signal has come */
	sigset_t before;
};

struct interrupts {
	/* Blocks the signals and makes i->fd. */
	int (*open)(struct interrupt *i, struct err *e);
	/* Closes i->fd and lets signals kill the program again. Signals that have come meanwhile
	 * are dropped. */
	void (*close)(struct interrupt *i);
};

/* Returns the signal that has come, or 0. */
int interrupt_signal(const struct interrupt *i);
/* Waits until a signal comes or until the time UNTIL_NS (clock_mono_ns()). Returns the signal, or
 * 0. */
int interrupt_wait(const struct interrupt *i, uint64_t until_ns);
