/* Does what the command line of cordon-tool asks for, and prints the result. */
#pragma once

#include "endpoint/interrupt.h"
#include "tool/options.h"

/* Returns the exit status. While a Box server works for us, the functions of INTERRUPTS keep
 * signals from killing us (endpoint/interrupt.h). */
int tool_program(const struct options *o, const struct interrupts *interrupts);
