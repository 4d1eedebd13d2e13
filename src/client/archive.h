/* Copies files between a sandbox and a descriptor, such as our standard input with `copy -`. The
 * descriptor carries a tar archive or, only on the way into the sandbox, the bytes of one file. */
#pragma once

#include "client/copy.h"
#include "client/sandbox.h"

/* Copies what FD holds to the path TO in the sandbox. If TO is a directory or ends in '/', FD must
 * hold a tar archive, whose entries go into TO. Otherwise FD holds the bytes of one file. */
MUST_USE int archive_in(struct client *c, int fd, const char *to, const struct copy_notes *n,
			struct err *e);
/* Writes the file or tree FROM to FD as a tar archive. FLAGS are from enum copy_flag
 * (client/copy.h). Scratch files are made in the home H. */
MUST_USE int archive_out(struct client *c, const struct home *h, const char *from, unsigned flags,
			 int fd, const struct copy_notes *n, struct err *e);
