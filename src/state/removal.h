/*
 * The removal of a record, in two steps. Retiring renames the record, so that no command sees it any more; the caller
 * holds its lock. Erasing deletes the files of the record, which can take long. A sweep erases the records that
 * killed commands have retired and not erased, and the unfinished records of killed creates.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

#define RECORD_QUOTA_MARK "layers/quota" /* if this file exists, layers/0 has a project quota */

/* Retires the record. Also succeeds if it does not exist. Returns 0 or -errno. */
MUST_USE int record_retire(const struct home *h, const char *name);
/* Returns true if NAME no longer leads to DIR. */
bool record_is_retired(const struct home *h, const char *name, int dir);
/* Returns true for two kinds of leftovers: a sandbox that never ran, because its create was killed, and an ephemeral
 * sandbox whose supervisor was killed. The caller holds the lock. */
bool record_is_leftover(int dir);
/* Erases the retired record and releases its claims. Fails with ERR_DENIED if files belong to a range of ids, because
 * only a process that has the range can delete them. */
MUST_USE int record_erase(const struct home *h, const char *name, struct err *e);
/* Removes what a killed supervisor left outside the home. ENTRY is the name of the record's directory. */
typedef void record_release(const struct home *h, const char *entry);
/* Erases retired and half-made records that no process holds. RELEASE may be NULL. Returns false if some files belong
 * to a range of ids, as with record_erase(). */
bool record_sweep(const struct home *h, record_release *release);
