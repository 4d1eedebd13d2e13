/*
 * The walls around the worker, raised after it has opened its directories and before it reads a request:
 *
 *   root         root's worker has the skills root as its root directory, and `..` of the skills root and of the
 *                source ends there
 *   files        Landlock: what lies below the skills root, and for reading what lies below the source
 *   privilege    root's worker keeps CAP_DAC_OVERRIDE and CAP_FOWNER, because the skills root and what is in it may
 *                belong to anybody, and CAP_CHOWN, to give what it makes to the owner of its directory
 *   calls        tools/skills.table: no sockets, processes, mounts
 *   resources    memory, size of files, descriptors, no core files
 */
#pragma once

#include <linux/filter.h>

#include "base/err.h"
#include "skills/store.h"

/* A request of 17 MiB as a tree of values, a listing of 16 MiB and its reply of 32 MiB, each twice while it grows. */
#define SKILLS_MEMORY_MAX_BYTES (384ull << 20)
#define SKILLS_OPEN_FILES_MAX 32u
#define SKILLS_IMPORT_FILES_MAX \
	640u /* a copy holds two descriptors for each of 256 directories on the way */

MUST_USE int skills_confine(const struct places *p, struct err *e);

/* Compiled from tools/skills.table. */
extern const struct sock_filter skills_filter[], skills_root_filter[];
extern const unsigned short skills_filter_len, skills_root_filter_len;
