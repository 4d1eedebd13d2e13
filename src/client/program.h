/* Where our other programs are: next to the one that runs, else where they were installed. */
#pragma once

#include "base/err.h"

/* Absolute path of program NAME, allocated. */
MUST_USE int program_find(const char *name, char **ret, struct err *e);

/* Sets MSB_PATH, for programs that call us back: credential helpers, and what they start. One that the
 * caller has set stays. It is not a variable of sandboxes. */
void program_tell_children(void);
