/*
 * A stream of bytes that holds files one after the other. For each file the stream has a line "SIZE
 * PATH" and then the SIZE bytes of the file. The stream ends after the last file. `cordon tool
 * grep` passes files of a sandbox to cordon-search in this form.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "files/path.h"

#define STREAM_FILE_MAX_BYTES (64u << 20)

struct stream_file {
	uint64_t size;
	char path[PATH_MAX_BYTES + 1]; /* may be "" */
};

/* Reads the line of the next file. Returns 1, 0 at the end of the stream, or -EINVAL if the line is
 * malformed. */
MUST_USE int stream_next(FILE *in, struct stream_file *ret);
