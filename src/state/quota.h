/*
 * Project quotas: the kernel limits the size of everything below one directory.
 *
 * A directory gets the number of a project while it is empty, and all files that are made in it inherit the number.
 * A process in another user namespace can neither avoid the limit nor change it. The number is kept in the
 * directory itself, so a record needs no copy. Only root can do any of this, and only on a file system that is
 * mounted with prjquota.
 *
 * Numbers are chosen at random among the unused ones, and are never given to another directory. So a command that
 * finds a number on the leftovers of a dead sandbox may lift the limit of that number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define QUOTA_FIRST 0x60000000u /* far above the numbers that people and other programs use */
#define QUOTA_COUNT 0x10000000u
#define QUOTA_INODE_BYTES 4096u /* the limit allows one file per this number of bytes */

/* Returns true if quotas are enforced on the file system of DIR. Takes one system call. */
bool quota_enforced(int dir);
/* Returns the project number that files in DIR inherit, or 0 if it is not one of ours. */
uint32_t quota_project(int dir);
/* Gives the empty DIR a number of its own. Returns 0 or -errno. */
MUST_USE int quota_adopt(int dir);
/* Limits DIR, which has a number of ours, to BYTES and a proportional number of files. If DIR is larger already, it
 * cannot grow. Returns 0 or -errno. */
MUST_USE int quota_limit(int dir, uint64_t bytes);
/* Lifts the limit of PATH, which is about to be erased, if it has one. Returns false if this needs more privilege; a
 * process with that privilege must then call quota_release() before PATH is erased. */
bool quota_release(int dirfd, const char *path);
