/*
 * /proc/PID/mountinfo, line by line, as slices of the caller's text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define MOUNTINFO_MAX_BYTES (16u << 20) /* a host with 100000 mounts still fits */

struct mountinfo {
	struct str id;
	struct str device;  /* of the file system, "MAJOR:MINOR" */
	struct str root;    /* what of the file system is mounted; escaped */
	struct str point;   /* where; escaped */
	struct str options; /* per mount */
	struct str fstype;
	struct str source; /* escaped */
	struct str super;  /* options of the file system */
};

/* Takes the next well-formed line off REST; false at the end. Other lines are passed over. */
bool mountinfo_next(struct str *rest, struct mountinfo *ret);
/* The kernel writes blanks and backslashes as octal. 0, -ENAMETOOLONG when OUT is too small, -EINVAL
 * for a NUL, which no path has. */
MUST_USE int mountinfo_unescape(struct str s, char *out, size_t out_bytes);
/* True when WORD is one of the members of a comma-separated list. */
bool mountinfo_has_option(struct str options, const char *word);
