/*
 * Gives up scheduling advantages of the process that started the sandbox. That process may have a
 * negative nice value, real-time scheduling, a high I/O priority, a low OOM score, or reserved
 * processors. All processes of a sandbox descend from its supervisor. So all of them would inherit
 * these advantages for as long as the sandbox lives. Even commands of other clients would have the
 * advantages.
 *
 * Disadvantages (nice above 0, batch or idle scheduling, fewer processors, a higher OOM score)
 * stay: the user chose them.
 */
#pragma once

#include <sched.h>

/* A score of 500 out of 1000. When the OOM killer compares sizes of processes, it adds half of the
 * machine's memory to the size of this process. The sum is more than the size of any well-behaved
 * process of the host. */
#define PRIORITY_OOM_SCORE 500

/* Gives up the advantages of this process. Called before this process makes its first child, so
 * that no child inherits the advantages. Called while this process still has CAP_SYS_RESOURCE: a
 * score that is set with this capability is a lower bound for the scores of all children, unless
 * they have the capability too. This function returns no error, because the kernel lets every
 * process give up these advantages. Only reserved processors stay, if a cpuset forbids all
 * others. */
void priority_give_up(void);

/* Sets *RET to the processors that are both in MINE and in THEIRS. If there are none, sets *RET to
 * THEIRS. */
void priority_cpus(const cpu_set_t *mine, const cpu_set_t *theirs, cpu_set_t *ret);
