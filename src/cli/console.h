/*
 * The terminal and the signals of this process. Only this code sets signal handlers, blocks
 * signals, makes the terminal raw and calls _exit(). All other code leaves the process alone, so a
 * server can use that code, too.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/screen.h"

/* Installs handlers for the signals that end this process: they restore the terminal and exit. When
 * this process ends, its connection closes, and pid 1 kills the command. If TERMINAL is true and
 * standard input is a terminal, makes this terminal raw. Returns a descriptor that becomes readable
 * when the terminal's size changes, or -1. main() already ignores SIGPIPE. */
int console_begin(bool terminal);
/* Remembers which modes of our terminal the command has switched on. console_leave() and the
 * signal handlers switch them off. */
void console_screen(const struct screen *s);
/* Switches off the terminal modes that the command has switched on, by control sequences on
 * standard output. Moves the cursor to the beginning of a line. Call this function if the command
 * did not end by itself, because then the command has not switched off its modes. */
void console_leave(void);
/* Restores the terminal. RESIZED is what console_begin() returned. */
void console_end(int resized);
/* Blocks SIGINT and SIGTERM until this process ends. Returns a descriptor from which the caller
 * reads these signals (struct signalfd_siginfo), or -1 with errno. */
int console_hold_signals(void);
/* Shows PROMPT on the terminal and reads a line that is not shown while it is typed. If a signal
 * ends us meanwhile, the terminal is restored first. */
MUST_USE int console_ask_secret(const char *prompt, struct buf *out, struct err *e);
