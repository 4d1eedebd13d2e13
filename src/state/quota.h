/*
 * Project quotas: a limit that the kernel keeps on everything below one directory.
 *
 * A directory gets a project's number while it is empty, and all that is made in it inherits the
 * number; who lives in another user namespace can neither read past it nor change it. The number is
 * kept in the directory itself, so a record needs no copy of it. Only root can do any of this, and
 * only where the file system is mounted with prjquota.
 *
 * Numbers are chosen at random among the unused and never given to another: who finds one on what is
 * left of a dead sandbox may lift its limit without asking whose it is now.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define QUOTA_FIRST 0x60000000u /* far from what people and other programs count up to */
#define QUOTA_COUNT 0x10000000u
#define QUOTA_INODE_BYTES 4096u /* one file for each of these bytes may be made */

/* Are they enforced on the file system that DIR is on? One system call. */
bool quota_enforced(int dir);
/* The number DIR hands down if it is one of ours, else 0. */
uint32_t quota_project(int dir);
/* Puts the empty DIR under a number of its own. -errno. */
MUST_USE int quota_adopt(int dir);
/* At most so many bytes, and files in proportion, below a DIR of ours; where there are more already,
 * no more than that. -errno. */
MUST_USE int quota_limit(int dir, uint64_t bytes);
/* Lifts the limit of PATH, which is about to be deleted, if there is one. False: it would need more
 * privilege, and must be tried again before PATH is gone. */
bool quota_release(int dirfd, const char *path);
