/*
 * The directory on the host in which a server keeps the files of its Workspaces. A hand looks up this directory,
 * because the server itself cannot access the file system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct source_rules;

#define WORKSPACE_MARKER_MAX_BYTES 1024u
/* every name of a marker begins with this, so that no other file is read or removed as a marker */
#define WORKSPACE_MARKER_PREFIX ".langbot-box-"

/* Follows the links of PATH once and returns the canonical path of the directory. *RET_USABLE is true if the directory
 * lies in a root of the rules and we may read, write and enter it. If the directory is missing and MAKE is set, makes
 * it and the missing ones above it inside a root. ERR_INVALID: PATH is no directory. ERR_NOT_FOUND: PATH is missing,
 * and there is no root or MAKE is not set. ERR_DENIED: the new directory would lie outside all roots. */
MUST_USE int workspace_find(const char *path, const struct source_rules *rules, bool make,
			    char **ret_path, bool *ret_usable, struct err *e);
/* Reads the file NAME in the directory DIR, which must be canonical; no link is followed. The file must be regular,
 * have 1 to WORKSPACE_MARKER_MAX_BYTES bytes and must not change meanwhile. *RET_DIGEST is its SHA-256 in hex. ERASE:
 * the file is removed, even if its content is not valid. */
MUST_USE int workspace_read_marker(const char *dir, const char *name, bool erase, char **ret_digest,
				   uint64_t *ret_size, struct err *e);
