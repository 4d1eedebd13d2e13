/*
 * Ranges of user ids for root's sandboxes: one machine-wide table, so that two homes never share
 * one. The table is a file of fixed slots, one per range, each holding the path of the record that
 * claimed it; a claim whose record is gone is free. It is persistent: a stopped sandbox's files
 * still belong to its range after a reboot. All changes are made under its lock. (A file rather than
 * a directory of claims: making and deleting an inode per sandbox cost more than all its mounts.)
 */
#pragma once

#include <stdint.h>

#include "base/confine.h"
#include "base/err.h"

#define RANGE_STRIDE 65537u /* 65536 ids for the payload, one for pid 1 */

/* First id of a range for the record at PATH: the one it HAD (its files are owned by it), or with
 * -1 a new one. */
MUST_USE int range_claim(const char *record_path, int64_t had, uint32_t *ret_base, struct err *e);
/* Gives back whatever the record holds. */
void range_release(const char *record_path);
/* range_release() stays possible for who confines himself. */
MUST_USE int range_keep(struct confine_files *f, struct err *e);
