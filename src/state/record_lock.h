/*
 * The lock of a record: whether the sandbox is live, and who may bring it up or down.
 *
 * Whoever brings the sandbox up or down holds the file `lock` exclusively. For a live sandbox that is its
 * supervisor. The kernel gives the lock back when the holder dies, so a free lock means nobody is there,
 * whatever state.json says.
 *
 * A second lock, on the first byte of the same file, is held while a start is under way. The supervisor
 * inherits it with the first one and gives it back when it listens.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

/* The directory and the lock file of an existing record. The lock is not taken. */
MUST_USE int record_open_lock(const struct home *h, const char *name, int *ret_dir, int *ret_lock,
			      struct err *e);
/* Takes that lock. ERR_BUSY when another process still holds it after WAIT_MS, ERR_NOT_FOUND when the record
 * was retired meanwhile. */
MUST_USE int record_lock(const struct home *h, const char *name, int dir, int lock,
			 unsigned wait_ms, struct err *e);
/* A command that starts the sandbox calls this before it takes the lock: one start at a time. It is in effect
 * for what record_create() returns. The end of the process ends it too. */
void record_start_begins(int lock);
/* The supervisor calls this when it can be talked to. */
void record_start_ends(int lock);
/* Waits while a start is under way, for a bounded time. */
void record_await_start(const struct home *h, const char *name);
bool record_is_starting(int dir);
/* 1, 0, or -errno where it cannot be told. */
int record_is_live(int dir);
