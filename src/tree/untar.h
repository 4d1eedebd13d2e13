/*
 * Reads a tar archive and sends it as records (wire/file.h), as tree/walk.h sends a tree of files.
 *
 * The archive may be hostile: a name with ".." is an error, every length is bounded, and the receiver follows no link that
 * the archive made. The outermost record is a directory without a name, so everything goes into the destination.
 */
#pragma once

#include "tree/walk.h"

struct untar_source {
	/* Reads up to N bytes. Returns how many, 0 at the end, or -errno. */
	long (*read)(void *arg, void *p, size_t n);
	void *arg;
};

/* Understands the ustar, pax and GNU forms, not compressed. What a copy cannot hold (devices, hard links) becomes a NOTE
 * or a MISS. The caller sends DONE. */
MUST_USE int untar(const struct untar_source *from, const struct tree_sink *to, struct err *e);
