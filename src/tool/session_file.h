/* Reads and writes files of a workspace that exists in the sandbox only. */
#pragma once

#include "tool/session_script.h"

#define SESSION_READ_MAX_BYTES 2048u /* the most bytes of a file in one result */

/* Appends up to MAX bytes to OUT. For a file these are lines, beginning with line FIRST. For a
 * directory they are the names in it, one per line. */
MUST_USE int session_read_lines(struct file_call *c, const struct place *p, int64_t first,
				int64_t lines, size_t max, bool *ret_directory, struct buf *out,
				struct fault *f);
/* Appends to OUT up to MAX bytes of the file, beginning at OFFSET. */
MUST_USE int session_read_bytes(struct file_call *c, const struct place *p, int64_t offset,
				size_t max, int64_t *ret_size, struct buf *out, struct fault *f);
/* Replaces the content of a file or adds to it. Missing directories are made. */
MUST_USE int session_write(struct file_call *c, const struct place *p, struct str content,
			   bool append, struct fault *f);
