/* Shrinks the stack of a process that has finished its start and then waits for as long as a
 * sandbox lives. */
#pragma once

/* Gives the pages below the current frame back to the kernel. The start of a program uses much more stack than its
 * loop. */
void stack_trim(void);
