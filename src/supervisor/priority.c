#include "supervisor/priority.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"

/* pid 1 of the host; its CPU affinity shows which processors ordinary processes use */
#define HOST_INIT 1
#define OOM_FILE "/proc/self/oom_score_adj"

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

/* Leaves real-time scheduling. Uses system calls, because the functions of musl do nothing. */
static void leave_real_time(void)
{
	const struct sched_param none = { 0 };
	long policy = syscall(SYS_sched_getscheduler, 0);

	if (policy < 0)
		return;
	policy &= ~SCHED_RESET_ON_FORK;
	if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
		IGNORE(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none)); /* always allowed */
}

/* Lowers the I/O priority. Called after the nice value and the scheduling policy are changed: if no
 * I/O priority was set, the kernel derives it from these two. */
static void lower_io(void)
{
	long now = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	long class = now < 0 ? IOPRIO_CLASS_NONE : IOPRIO_PRIO_CLASS(now);

	if (class == IOPRIO_CLASS_RT ||
	    (class == IOPRIO_CLASS_BE && (now & (IOPRIO_NR_LEVELS - 1)) < IOPRIO_BE_NORM))
		IGNORE(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0)); /* always allowed */
}

void priority_cpus(const cpu_set_t *mine, const cpu_set_t *theirs, cpu_set_t *ret)
{
	CPU_AND(ret, mine, theirs);
	if (CPU_COUNT(ret) == 0)
		*ret = *theirs;
}

static void leave_kept_cpus(void)
{
	cpu_set_t mine, theirs, both;

	if (sched_getaffinity(0, sizeof(mine), &mine) < 0 ||
	    sched_getaffinity(HOST_INIT, sizeof(theirs), &theirs) < 0)
		return;
	priority_cpus(&mine, &theirs, &both);
	/* this fails if a cpuset forbids these processors */
	if (!CPU_EQUAL(&mine, &both))
		IGNORE(sched_setaffinity(0, sizeof(both), &both));
}

/* Makes the OOM killer kill the sandbox before the host's own processes. The sandbox's own memory
 * limit is not enough. A payload can make the kernel use memory that no control group counts, such
 * as buffers of netlink sockets. */
static void go_first_for_memory(void)
{
	AUTO_BUF text = BUF_INIT(64);
	char first[16];
	struct str rest;
	uint64_t score;

	if (io_read_file(AT_FDCWD, OOM_FILE, &text) < 0)
		return;
	rest = str_of(buf_str(&text));
	if (parse_u64_str(str_cut(&rest, '\n'), PRIORITY_OOM_SCORE, 1000, &score) == 0)
		return; /* the caller has chosen an equal or a higher score */
	snprintf(first, sizeof(first), "%d", PRIORITY_OOM_SCORE);
	IGNORE(io_write_file(AT_FDCWD, OOM_FILE, first)); /* raising the score is always allowed */
}

void priority_give_up(void)
{
	leave_real_time();
	if (getpriority(PRIO_PROCESS, 0) < 0)
		IGNORE(setpriority(PRIO_PROCESS, 0, 0)); /* always allowed */
	lower_io();
	leave_kept_cpus();
	go_first_for_memory();
}
