/*
 * The restrictions of the worker. The worker restricts itself after it has opened its directories
 * and before it reads a request:
 *
 *   root         a worker that runs as root changes its root directory to the skills root; by
 *                `..` it can leave neither the skills root nor the source (what it imports)
 *   files        Landlock allows files below the skills root, and reading below the source
 *   privilege    a worker that runs as root keeps three capabilities: CAP_DAC_OVERRIDE and
 *                CAP_FOWNER, because files in the skills root may belong to any user; CAP_CHOWN, to
 *                give new files to the owner of their directory
 *   calls        tools/skills.table: no sockets, processes, mounts
 *   resources    memory, size of files, descriptors, no core files
 */
#pragma once

#include <linux/filter.h>

#include "base/err.h"
#include "skills/store.h"

/* This memory is enough for a parsed request of 17 MiB, a listing of 16 MiB and a reply of 32 MiB.
 * While a buffer grows, it needs twice its size. */
#define SKILLS_MEMORY_MAX_BYTES (384ull << 20)
#define SKILLS_OPEN_FILES_MAX 32u
/* the limit of a worker that imports: to copy a tree that is 256 directories deep, the worker needs
 * two descriptors for each level */
#define SKILLS_IMPORT_FILES_MAX 640u

/* Restricts the calling process as described above. Returns 0 or -1. */
MUST_USE int skills_confine(const struct places *p, struct err *e);

/* Compiled from tools/skills.table. */
extern const struct sock_filter skills_filter[], skills_root_filter[];
extern const unsigned short skills_filter_len, skills_root_filter_len;
