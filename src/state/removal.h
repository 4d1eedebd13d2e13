/*
 * A record is removed in two steps. The first step retires the record: a process that holds the
 * record's lock renames it, so that no command sees it any more. The second step erases the files
 * of the record, which can take long. A sweep erases records that killed commands have retired but
 * not erased, and unfinished records that a killed `create` has left.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct home;

/* if a record has this file, its layers/0 has a project quota */
#define RECORD_QUOTA_MARK "layers/quota"

/* Retires the record. Also succeeds if the record does not exist. Returns 0 or -errno. */
MUST_USE int record_retire(const struct home *h, const char *name);
/* Returns true if the name NAME no longer leads to the record DIR. */
bool record_is_retired(const struct home *h, const char *name, int dir);
/* Returns true for the record of a sandbox that never ran because its `create` was killed, and for
 * the record of an ephemeral sandbox whose supervisor was killed. The caller holds the lock. */
bool record_is_leftover(int dir);
/* Erases the retired record and releases its claims. Fails with ERR_DENIED if this process may not
 * delete some files, because they belong to the sandbox's range of ids. */
MUST_USE int record_erase(const struct home *h, const char *name, struct err *e);
/* A function of this type removes what a killed supervisor left outside the home, for example
 * control groups. ENTRY is the name that the retired record has in sandboxes/ (".gone-…"). */
typedef void record_release(const struct home *h, const char *entry);
/* Erases retired and half-made records that no process has locked. RELEASE may be NULL. Returns
 * false if this process may not delete some files, because they belong to a sandbox's range of
 * ids. */
bool record_sweep(const struct home *h, record_release *release);
