/*
 * The directory on the host in which a server keeps the files of its Workspaces, and the markers in
 * it. A marker is a small file that the server's peer or a temporary sandbox wrote. If the server
 * can read the marker, the writer uses the same directory. The server itself has no access to
 * files, so a hand runs this code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct source_rules;

#define WORKSPACE_MARKER_MAX_BYTES 1024u
/* every name of a marker begins with this, so that no other file is read or removed as a marker */
#define WORKSPACE_MARKER_PREFIX ".langbot-box-"

/* Follows the links of PATH and gives the canonical path of the directory. *RET_USABLE is true if
 * the rules have a root and allow the directory, and we may read, write and enter it. If the
 * directory is missing and MAKE is true, makes the directory and its missing parents, if they lie
 * in a root. Fails with ERR_INVALID if PATH is no directory. Fails with ERR_NOT_FOUND if PATH is
 * missing and either the rules have no root or MAKE is false. Fails with ERR_DENIED if the new
 * directory would lie outside of all roots. */
MUST_USE int workspace_find(const char *path, const struct source_rules *rules, bool make,
			    char **ret_path, bool *ret_usable, struct err *e);
/* Reads the file NAME in the directory DIR, whose path must be canonical. Follows no link. The file
 * must be regular and have 1 to WORKSPACE_MARKER_MAX_BYTES bytes. It must not change while it is
 * read. *RET_DIGEST is the SHA-256 of the file in hex. If ERASE is true, removes the file, even if
 * its content is not valid. */
MUST_USE int workspace_read_marker(const char *dir, const char *name, bool erase, char **ret_digest,
				   uint64_t *ret_size, struct err *e);
