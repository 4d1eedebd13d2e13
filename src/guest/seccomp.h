/*
 * The system call filters of commands, of pid 1 and of the deputy. The build compiles them from
 * tables in tools/.
 *
 * seccomp_filter is the filter of every command, from tools/seccomp.table. The process of a command
 * installs the filter (guest/exec.c) while it still has the capability to do so. After that the
 * process still sets its bounding set, groups and ids and calls exec, so the filter allows these
 * calls.
 */
#pragma once

#include <assert.h>
#include <linux/filter.h>

#include "wire/message.h"

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_len;

/* A clause of the filter that applies only in sandboxes with a certain switch (enum boot_switch).
 * `at` is the index of the jump that skips the clause. In the compiled filter every switch is
 * off. */
struct seccomp_clause {
	unsigned short at;
	unsigned short boot_switch;
};
extern const struct seccomp_clause seccomp_filter_clauses[];
extern const unsigned seccomp_filter_clauses_len;

/* the most instructions that the filter may have; seccomp_choose() has room for a copy of this
 * length */
#define SECCOMP_FILTER_MAX 256

/* Returns the filter for a sandbox with these switches: seccomp_filter itself, or a copy in static
 * memory that the next call overwrites. */
const struct sock_filter *seccomp_choose(unsigned switches);

/* The filter of pid 1. All children of pid 1 inherit it. It is compiled from tools/guest.table. */
extern const struct sock_filter guest_filter[];
extern const unsigned short guest_filter_len;

/* The filter that says which calls the kernel passes to the deputy (tools/notify.table), and the
 * deputy's own filter (tools/deputy.table). */
extern const struct sock_filter notify_filter[];
extern const unsigned short notify_filter_len;
extern const struct sock_filter deputy_filter[];
extern const unsigned short deputy_filter_len;

/* What tools/seccomp.table says, with one entry for each system call. Only the test of the
 * filter links this array. */
struct seccomp_expect {
	const char *name;
	unsigned nr;
	unsigned answer; /* SECCOMP_RET_*, or 0 if the arguments decide */
};
extern const struct seccomp_expect seccomp_expect[];
extern const unsigned seccomp_expect_len;
