/*
 * Loads images from archives. An archive of `docker save` has a manifest.json, and an OCI layout
 * has an index.json. If an archive has neither of these files and the user gave a tag, the archive
 * is a plain root file system. An archive is a tar, plain or compressed. An archive of images may
 * come from a pipe. A plain root file system must be in a file, because it is read twice.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "store/store.h"

struct load_options {
	int fd;
	/* further names for the first image; a plain root file system has only these names */
	const char *const *tags;
	size_t n_tags;
	/* called for each reference of an image, after the reference was written */
	void (*report)(const char *reference, void *arg);
	void *report_arg;
};

MUST_USE int load_archive(const struct store *store, const struct load_options *o, struct err *e);
