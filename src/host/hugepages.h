/*
 * Huge pages that an administrator reserved on this machine, for a database or a virtual machine.
 * Any program can map them without a privilege. Only one cgroup controller limits them, and few
 * machines mount it.
 */
#pragma once

#include <stdbool.h>

/* Returns true if huge pages of any size are reserved, or if the kernel makes them on demand. */
bool hugepages_reserved(void);
