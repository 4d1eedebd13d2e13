/*
 * Ranges of user ids for root's sandboxes. One table for the whole machine keeps two homes from using the same
 * range.
 *
 * The table is a file of fixed slots, one per range. A slot holds the path of the record that claimed it; if that
 * record is gone, the slot is free. The table is persistent, because the files of a stopped sandbox belong to its
 * range after a reboot too. Every change is made under the lock of the table. The table is one file and not a
 * directory of claims, because making and deleting an inode per sandbox costs more than all mounts of the sandbox.
 */
#pragma once

#include <stdint.h>

#include "base/confine.h"
#include "base/err.h"

#define RANGE_STRIDE 65537u /* 65536 ids for the payload, one for pid 1 */

/* Claims a range for the record at RECORD_PATH and sets *RET_BASE to its first id. HAD is the first id of the range
 * that the record's files belong to, or -1 for a new range. */
MUST_USE int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e);
/* Gives back the range that the record holds. */
void range_release(const char *record_path);
/* Allows range_release() in a process that confines itself. */
MUST_USE int range_keep(struct confine_files *f, struct err *e);
