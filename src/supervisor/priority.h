/*
 * A sandbox gets no priority from whoever started it. The caller may run with a negative nice value, as a
 * real-time process, with a high I/O priority, spared by the OOM killer, or on processors that are kept free
 * of others. All processes of a sandbox descend from its supervisor: they would inherit these advantages for
 * as long as the sandbox lives, and the commands of every later caller would too.
 *
 * Disadvantages (nice above 0, batch or idle scheduling, fewer processors, a higher OOM score) are the
 * caller's choice and stay.
 */
#pragma once

#include <sched.h>

/* This score is out of 1000. When the kernel looks for a process to kill, it adds half of the
 * machine's memory to what this one uses: more than any well-behaved process of the host has. */
#define PRIORITY_OOM_SCORE 500

/* Gives up the advantages of this process. The caller calls it before it makes the first child
 * and while it still has its capabilities: only with CAP_SYS_RESOURCE does the kernel also keep
 * the children from lowering their OOM score again. This cannot fail: the kernel allows every
 * process to give up these advantages. */
void priority_give_up(void);

/* The processors that are in MINE and in THEIRS; all of THEIRS if there are none. */
void priority_cpus(const cpu_set_t *mine, const cpu_set_t *theirs, cpu_set_t *ret);
