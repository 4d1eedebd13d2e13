/*
 * Waits for a file lock for a bounded time. The kernel's locks have no time-outs, and a timer
 * signal would disturb the whole process. So we start a task that waits for the lock, and we wait
 * for the task with a time-out. A lock that these functions take belongs to the open file, which
 * the task shares with us. So when the task gets the lock, we have the lock.
 */
#pragma once

#include "base/err.h"

/* Takes flock(FD, OPERATION) within WAIT_MS. Returns 0 or -errno; -ETIMEDOUT if the time has
 * passed. */
MUST_USE int lock_flock(int fd, int operation, unsigned wait_ms);
/* Does the same as lock_flock(), with an open file description lock on the first byte. TYPE is
 * F_RDLCK or F_WRLCK; F_UNLCK gives the lock back. */
MUST_USE int lock_first_byte(int fd, short type, unsigned wait_ms);
