/*
 * The flat form of an image: its layers merged into one ext4 file system in a file, of which every
 * sandbox that asks for it gets a copy of its own. Made once for each stack of layers, whoever asks;
 * it lies in cache/flat (image/store.h).
 *
 * The file system is mounted while it is filled, so only root makes one. Nobody else could use it.
 */
#pragma once

#include "base/err.h"
#include "image/store.h"
#include "pull/store.h"

/* Returns at once when it is there; waits while somebody else makes it. HOME is STORE's path. */
MUST_USE int flat_make(const struct store *store, const char *home, const struct image_record *r,
		       struct err *e);
