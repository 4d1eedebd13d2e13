/*
 * The removal of a record, in two steps. Retiring renames it, so that no command sees it any more; the caller
 * holds its lock. Erasing deletes the files, which can take long. A sweep erases what killed commands left
 * after the first step, and records that a killed create had not finished.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

#define RECORD_QUOTA_MARK "layers/quota" /* a file: layers/0 is under a project quota */

/* Retires the record. Success where there is none. 0 or -errno. */
MUST_USE int record_retire(const struct home *h, const char *name);
/* True when DIR is no longer what NAME names. */
bool record_is_retired(const struct home *h, const char *name, int dir);
/* True for the record of a sandbox that never ran, which a killed create left, and for that of an ephemeral one,
 * which a killed supervisor left. The caller holds the lock. */
bool record_is_leftover(int dir);
/* Deletes the retired record and its claims. ERR_DENIED: files of a uid range need help. */
MUST_USE int record_erase(const struct home *h, const char *name, struct err *e);
/* RELEASE removes what a killed supervisor left outside of the home. It gets the name of the record's directory. */
typedef void record_release(const struct home *h, const char *entry);
/* Erases retired and half-made records that nobody holds. RELEASE may be NULL. False: files of a uid range need
 * help. */
bool record_sweep(const struct home *h, record_release *release);
