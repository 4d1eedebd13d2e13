/* Copies through tar archives on descriptors of this program, for `copy -`. */
#pragma once

#include "client/copy.h"
#include "client/sandbox.h"

/* Copies what FD holds to TO. If TO is a directory or ends in '/', FD holds a tar archive, whose entries go into TO.
 * Otherwise FD holds the bytes of one file. */
MUST_USE int archive_in(struct client *c, int fd, const char *to, const struct copy_notes *n,
			struct err *e);
/* Writes the file or tree FROM to FD as a tar archive. FLAGS are those of copy.h. H is the home for scratch files. */
MUST_USE int archive_out(struct client *c, const struct home *h, const char *from, unsigned flags,
			 int fd, const struct copy_notes *n, struct err *e);
