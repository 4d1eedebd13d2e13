/*
 * Reads a tar archive and sends its entries as records (wire/file.h), in the same form in which
 * tree/walk.h sends a tree.
 *
 * The archive may be hostile: a name with ".." is an error, every length is bounded, and the
 * receiver follows no link from the archive. The outermost record is a directory without a name, so
 * everything goes into the destination.
 */
#pragma once

#include "tree/walk.h"

struct untar_source {
	/* Reads up to N bytes. Returns how many, 0 at the end, or -errno. */
	long (*read)(void *arg, void *p, size_t n);
	void *arg;
};

/* Understands uncompressed archives in the ustar, pax and GNU forms. Sends a NOTE instead of a
 * device or FIFO, and a MISS instead of a hard link: both are left out of the copy. Does not send
 * DONE; the caller sends it. Returns 0 or -1. */
MUST_USE int untar(const struct untar_source *from, const struct tree_sink *to, struct err *e);
