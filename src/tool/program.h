/* Does what the command line of cordon-tool asks for, and prints the result. */
#pragma once

#include "tool/options.h"

/* Returns the exit status. */
int tool_program(const struct options *o);
