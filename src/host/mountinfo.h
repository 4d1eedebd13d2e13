/*
 * Parses the text of /proc/PID/mountinfo, line by line. The results point into this text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

#define MOUNTINFO_MAX_BYTES (16u << 20) /* enough for a host with 100000 mounts */

struct mountinfo {
	struct str id;
	struct str device;  /* device of the file system, "MAJOR:MINOR" */
	struct str root;    /* the part of the file system that is mounted; escaped */
	struct str point;   /* the mount point; escaped */
	struct str options; /* options of this mount */
	struct str fstype;
	struct str source; /* escaped */
	struct str super;  /* options of the file system */
};

/* Removes malformed lines from the front of REST, then removes and parses the first well-formed
 * line. Returns false if there is no such line. */
bool mountinfo_next(struct str *rest, struct mountinfo *ret);
/* Decodes the octal escapes that the kernel writes for blanks and backslashes. Returns 0,
 * -ENAMETOOLONG if OUT is too small, or -EINVAL if the result would contain a NUL, which no path
 * has. */
MUST_USE int mountinfo_unescape(struct str s, char *out, size_t out_bytes);
/* Returns true if WORD is one of the members of a comma-separated list. */
bool mountinfo_has_option(struct str options, const char *word);
