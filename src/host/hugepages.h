/*
 * Huge pages that somebody set aside for programs of this machine, for a database or a virtual machine. Any program can map them
 * without a privilege, and only a group of a controller that few machines mount would count them.
 */
#pragma once

#include <stdbool.h>

/* True when there are some, of any size, or when the kernel makes them on demand. */
bool hugepages_reserved(void);
