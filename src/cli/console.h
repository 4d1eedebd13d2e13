/*
 * The terminal and the signals of this process while it runs a command in a sandbox. Signal handlers,
 * the raw terminal and _exit() are only here, so that a server can use all other code of the program.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/screen.h"

/* Installs handlers that restore the terminal and exit if a signal ends this process. When this process ends, its
 * connection closes, and pid 1 kills the command. With TERMINAL, standard input becomes raw if it is a terminal.
 * Returns a descriptor that becomes readable when that terminal's size changes, or -1. main() already ignores
 * SIGPIPE. */
int console_begin(bool terminal);
/* Remembers what the command has asked of our terminal, for console_leave() and for a signal that ends us. */
void console_screen(const struct screen *s);
/* Writes to standard output what takes back the command's requests to our terminal. Call it if the command did not end
 * by itself, because then the command has taken nothing back. Moves the cursor to the beginning of a line. */
void console_leave(void);
/* Restores the terminal. RESIZED is what console_begin() returned. */
void console_end(int resized);
/* Shows PROMPT on the terminal and reads a line that is not shown while it is typed. If a signal ends us meanwhile, the
 * terminal is restored first. */
MUST_USE int console_ask_secret(const char *prompt, struct buf *out, struct err *e);
