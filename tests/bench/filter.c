/*
 * Measures the system call filter: the time to attach it, and the time of three kinds of calls. The
 * filter always allows the first kind (getppid), decides about the second kind (ioctl) by its
 * argument, and refuses the third kind (an unknown number). Each line of the output is NAME, the
 * time without the filter and the time with the filter, in nanoseconds. In the line "attach", the
 * first time is 0.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guest/seccomp.h"

#define CALLS 200000
#define REPEATS 5 /* how often each time is measured; the shortest time counts */
#define NO_SUCH_CALL 599

static const struct {
	const char *name;
	long number, first;
} calls[] = { { "getppid", SYS_getppid, 0 },
	      { "ioctl", SYS_ioctl, -1 },
	      { "unknown", NO_SUCH_CALL, 0 } };

static double per_call(long number, long first)
{
	double best = 0;

	for (int r = 0; r < REPEATS; r++) {
		uint64_t start = clock_mono_ns();
		double ns;

		for (int i = 0; i < CALLS; i++)
			syscall(number, first, 0, 0);
		ns = (double)(clock_mono_ns() - start) / CALLS;
		if (r == 0 || ns < best)
			best = ns;
	}
	return best;
}

int main(void)
{
	struct sock_fprog prog = { seccomp_filter_len, (struct sock_filter *)seccomp_filter };
	double free_ns[ARRAY_SIZE(calls)];
	uint64_t start;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		free_ns[i] = per_call(calls[i].number, calls[i].first);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	start = clock_mono_ns();
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return 1;
	printf("attach 0 %llu\n", (unsigned long long)(clock_mono_ns() - start));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		printf("%s %.1f %.1f\n", calls[i].name, free_ns[i],
		       per_call(calls[i].number, calls[i].first));
	return 0;
}
