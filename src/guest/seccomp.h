/*
 * The system call filter that every command in a sandbox runs under. The program is compiled from
 * tools/seccomp.table when cordon is built; guest/exec installs it with seccomp(2) as the last
 * thing that needs a capability, and what follows (bounding set, groups, ids, exec) is allowed by
 * it.
 */
#pragma once

#include <assert.h>
#include <linux/filter.h>

#include "wire/message.h"

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_len;

/* Clauses that count only in sandboxes with a switch (enum boot_switch): where the jump is that skips
 * one. As compiled, every switch is off. */
struct seccomp_clause {
	unsigned short at;
	unsigned short boot_switch;
};
extern const struct seccomp_clause seccomp_filter_clauses[];
extern const unsigned seccomp_filter_clauses_len;

#define SECCOMP_FILTER_MAX 256 /* instructions; the copy with switches lies in pid 1's memory */

/* The filter for a sandbox with these switches: seccomp_filter itself, or a copy in static memory, which
 * the next call overwrites. */
const struct sock_filter *seccomp_choose(unsigned switches);

/* What pid 1 refuses itself, and whatever it starts: from tools/guest.table. */
extern const struct sock_filter guest_filter[];
extern const unsigned short guest_filter_len;

/* Which calls go to the deputy, and what it may do itself: from tools/notify.table and tools/deputy.table. */
extern const struct sock_filter notify_filter[];
extern const unsigned short notify_filter_len;
extern const struct sock_filter deputy_filter[];
extern const unsigned short deputy_filter_len;

/* The table again, one entry per system call, for the test of the program: never linked otherwise.
 */
struct seccomp_expect {
	const char *name;
	unsigned nr;
	unsigned answer; /* SECCOMP_RET_*, or 0 when arguments decide */
};
extern const struct seccomp_expect seccomp_expect[];
extern const unsigned seccomp_expect_len;
