/* Does what the command line of cordon-tool asks for, and prints the result. */
#pragma once

#include "endpoint/interrupt.h"
#include "tool/options.h"

/* Returns the exit status. INTERRUPTS block signals while a Box server works for us. */
int tool_program(const struct options *o, const struct interrupts *interrupts);
