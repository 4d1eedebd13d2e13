/*
 * The terminal and the signals of this process, while a command of a sandbox uses them. Only this file
 * has signal handlers, a raw terminal and _exit(): whatever else is linked into the program can be used
 * by a server as well.
 */
#pragma once

#include <stdbool.h>

/* If a signal ends us, we need not tell the command: our death closes the connection, and pid 1
 * kills what it ran. The handler restores the terminal and sets the exit status. With TERMINAL,
 * standard input becomes raw if it is a terminal. Returns a descriptor that becomes readable when
 * that terminal's size changes, or -1. main() has ignored SIGPIPE. */
int console_begin(bool terminal);
/* Restores the terminal. RESIZED is what console_begin() returned. */
void console_end(int resized);
