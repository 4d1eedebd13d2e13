/* Shrinks the stack of a process that lives as long as a sandbox. The process calls
 * stack_trim() once, at the end of its start. */
#pragma once

/* Gives the pages below the current stack frame back to the kernel. A program needs much more stack
 * for its start than for its main loop. */
void stack_trim(void);
