/*
 * Finds out whether an administrator has reserved huge pages on this machine, for example for a
 * database. Any program can map such pages without a privilege. Only the cgroup controller
 * `hugetlb` limits them, and few machines mount this controller. So if there are such pages, the
 * system call filter keeps commands from taking them (tools/seccomp.table).
 */
#pragma once

#include <stdbool.h>

/* Returns true if huge pages of any size are reserved, or if the kernel makes them on demand. */
bool hugepages_reserved(void);
