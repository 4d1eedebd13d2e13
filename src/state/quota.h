/*
 * Project quotas. With a project quota the kernel limits the size of all files below one directory.
 *
 * A directory gets the number of a project while it is empty, and all files that are made in it
 * inherit the number. A process in another user namespace can neither avoid the limit nor change
 * it. The file system stores the number in the directory itself, so a record needs no copy. Only
 * root can use project quotas, and only on a file system that is mounted with `prjquota`.
 *
 * A new number is chosen at random among the numbers that have no limit and no files. So a new
 * directory never gets a number that is in use. If a command finds a number on the files of a dead
 * sandbox, it can safely remove the limit of this number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define QUOTA_FIRST 0x60000000u /* far above the numbers that people and other programs use */
#define QUOTA_COUNT 0x10000000u
#define QUOTA_INODE_BYTES 4096u /* the limit allows one file per this number of bytes */

/* Returns true if quotas are enforced on the file system of DIR. Makes only one system call. */
bool quota_enforced(int dir);
/* Returns the project number that files in DIR inherit, or 0 if it is not one of ours. */
uint32_t quota_project(int dir);
/* Gives the empty directory DIR a new project number. Returns 0 or -errno. */
MUST_USE int quota_adopt(int dir);
/* Limits the directory DIR to BYTES bytes and a proportional number of files. DIR must have a
 * number of ours. If DIR is already larger, it cannot grow any more. Returns 0 or -errno. */
MUST_USE int quota_limit(int dir, uint64_t bytes);
/* Removes the limit of the directory PATH, if it has one. Call this before PATH is erased. Returns
 * false if this needs more privilege: then a process with that privilege must call quota_release()
 * before PATH is erased. */
bool quota_release(int dirfd, const char *path);
