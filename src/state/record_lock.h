/*
 * The lock of a record: it tells whether the sandbox is live, and which process may start or stop
 * it.
 *
 * The process that starts or stops the sandbox holds an exclusive lock on the file `lock`. While
 * the sandbox is live, its supervisor holds the lock. The kernel releases the lock when the process
 * that holds it dies. So a free lock means that there is no supervisor, whatever state.json says.
 *
 * A second lock, on the first byte of the same file, is held while a start is under way. The
 * supervisor inherits both locks and releases the second one when it listens.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

/* Opens the directory and the lock file of an existing record. Does not take the lock. */
MUST_USE int record_open_lock(const struct home *h, const char *name, int *ret_dir, int *ret_lock,
			      struct err *e);
/* Takes the lock. Fails with ERR_BUSY if another process still holds it after WAIT_MS, and with
 * ERR_NOT_FOUND if the record was retired meanwhile. */
MUST_USE int record_lock(const struct home *h, const char *name, int dir, int lock,
			 unsigned wait_ms, struct err *e);
/* Takes the second lock. A command that starts an existing sandbox calls this before record_lock().
 * For a new sandbox, record_create() takes the second lock itself. If record_start_ends() is never
 * called, the kernel releases the second lock when every process that has LOCK open has ended. */
void record_start_begins(int lock);
/* Releases the second lock. The supervisor calls this when it accepts connections. */
void record_start_ends(int lock);
/* If a start is under way, waits for its end, but only for a limited time. */
void record_await_start(const struct home *h, const char *name);
bool record_is_starting(int dir);
/* Returns 1 if a process holds the lock: the supervisor of a live sandbox, or a process that is
 * starting or stopping the sandbox. Returns 0 if no process holds the lock, or -errno. */
int record_is_live(int dir);
