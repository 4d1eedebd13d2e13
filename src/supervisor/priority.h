/*
 * Gives up scheduling advantages of the caller that started the sandbox. The caller may run with a negative
 * nice value, as a real-time process, with a high I/O priority, spared by the OOM killer, or on reserved
 * processors. All processes of a sandbox descend from its supervisor, and would inherit these advantages for
 * as long as the sandbox lives, even commands of other callers.
 *
 * Disadvantages (nice above 0, batch or idle scheduling, fewer processors, a higher OOM score) are the
 * caller's choice and stay.
 */
#pragma once

#include <sched.h>

/* A score of 500 out of 1000: the OOM killer adds half of the machine's memory to what this process
 * uses, which is more than any well-behaved process of the host has. */
#define PRIORITY_OOM_SCORE 500

/* Gives up the advantages of this process. The caller calls it before it makes the first child, and
 * while it still has CAP_SYS_RESOURCE: then the children cannot lower their OOM score again. This
 * cannot fail, because the kernel lets every process give up these advantages. */
void priority_give_up(void);

/* Returns the processors that are in MINE and in THEIRS, or all of THEIRS if no processor is in both. */
void priority_cpus(const cpu_set_t *mine, const cpu_set_t *theirs, cpu_set_t *ret);
