/* Where our other programs are: next to the one that runs, else where they were installed. */
#pragma once

#include "base/err.h"

/* Absolute path of program NAME, allocated. */
MUST_USE int program_find(const char *name, char **ret, struct err *e);
