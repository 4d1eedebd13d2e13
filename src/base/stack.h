/* The stack of a process that has come up and goes on to wait, small, for as long as a sandbox lives. */
#pragma once

/* Gives back what deeper calls have used of it: the start of a program goes much deeper than its loop. */
void stack_trim(void);
