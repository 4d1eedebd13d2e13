/* A script on standard input, which the sandbox's shell runs when the command line has no command. */
#pragma once

#include <stdbool.h>

/* Waits until standard input has a first byte or ends, and reads nothing. Returns false if standard input is empty, and
 * at once if it is /dev/null. */
bool script_waits(void);
