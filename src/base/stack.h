/* Shrinks the stack of a process that has finished its start and then waits for as long as a
 * sandbox lives. */
#pragma once

/* Gives the pages below the current frame back to the kernel: the start of a program goes much deeper than its
 * loop. */
void stack_trim(void);
