/*
 * What the kernel gives the caller's processes before others is not for a sandbox. Whoever starts one may
 * run with a negative nice value, as a real-time process, with a high I/O priority, spared by the OOM
 * killer, or on processors that are kept free of others. All processes of a sandbox descend from its
 * supervisor and would inherit that, for as long as the sandbox lives and for commands of every later caller.
 *
 * What is worse than usual (nice above 0, batch or idle scheduling, fewer processors, a higher OOM score)
 * is the caller's choice and stays.
 */
#pragma once

#include <sched.h>

/* Of 1000. The kernel adds half of the machine's memory to what a process uses when it looks for one to
 * end: more than any well-behaved process of the host's has. */
#define NEUTRAL_OOM_SCORE 500

/* Takes the advantages from this process. Must come before the first child and while the capabilities are
 * still there: only CAP_SYS_RESOURCE takes the right to be spared again from the children too. Never
 * fails: each of these can always be given up. */
void neutral_priorities(void);

/* The processors of MINE that THEIRS has too; all of THEIRS if there are none. */
void neutral_cpus(const cpu_set_t *mine, const cpu_set_t *theirs, cpu_set_t *ret);
