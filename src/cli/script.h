/* If the command line has no command, the sandbox's shell can run a script that comes on
 * standard input. */
#pragma once

#include <stdbool.h>

/* Waits until standard input has a first byte or ends. Reads nothing. Returns false if standard
 * input is empty. If standard input is /dev/null, returns false at once. */
bool script_waits(void);
