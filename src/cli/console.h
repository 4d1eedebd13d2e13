/*
 * The terminal and the signals of this process, while a command of a sandbox uses them. Only this file
 * has signal handlers, a raw terminal and _exit(): whatever else is linked into the program can be used
 * by a server as well.
 */
#pragma once

#include <stdbool.h>

/* A signal that ends us needs no word to the command: our death closes the connection, and pid 1 kills what
 * it ran. The handler restores the terminal and sets the exit status. With TERMINAL, and if standard input
 * is one, that is raw from now on. Returns a descriptor that becomes readable when the size of that
 * terminal changes, or -1. */
int console_begin(bool terminal);
/* The terminal is as it was; RESIZED is what console_begin() returned. */
void console_end(int resized);
