/*
 * Ranges of user ids for root's sandboxes. One table for the whole machine keeps two homes from
 * using the same range.
 *
 * The table is a file of fixed slots, one per range. A slot holds the path of the record that
 * claimed the range. If that record is gone, the slot is free. The table must survive a reboot,
 * because the files of a stopped sandbox still belong to its range. So it is in /var/lib; if it
 * cannot be written there, a small table in /run is used instead. Every change is made under the
 * lock of the table. A directory with one file per claim would be slower than one file: to make and
 * delete an inode for each sandbox costs more than all mounts of the sandbox.
 */
#pragma once

#include <stdint.h>

#include "base/confine.h"
#include "base/err.h"

#define RANGE_STRIDE 65537u /* 65536 ids for the payload, one for pid 1 */

/* Claims a range for the record at RECORD_PATH and sets *RET_BASE to its first id. If the record's
 * files already belong to a range, HAD is the first id of that range. For a new range HAD is -1. */
MUST_USE int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e);
/* Gives back the range that the record holds. */
void range_release(const char *record_path);
/* Adds to *F the files that range_release() needs in a process that has confined itself. */
MUST_USE int range_keep(struct confine_files *f, struct err *e);
