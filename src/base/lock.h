/*
 * Waiting for a file lock for a bounded time. The kernel's locks have no time-outs, and a timer signal
 * would be state of the whole process. So a task of ours waits instead: both kinds of lock here belong to
 * the open file, which the task shares, and what it gets is ours. We wait for the task with a time-out.
 */
#pragma once

#include "base/err.h"

/* Takes flock(FD, OPERATION) within WAIT_MS. 0 or -errno; -ETIMEDOUT. */
MUST_USE int lock_flock(int fd, int operation, unsigned wait_ms);
/* Takes an open file description lock of TYPE (F_RDLCK, F_WRLCK; F_UNLCK gives it back) on the first byte. Likewise. */
MUST_USE int lock_first_byte(int fd, short type, unsigned wait_ms);
