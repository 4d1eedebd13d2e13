/*
 * Loads images from archives: archives of `docker save` (with manifest.json), OCI layouts (with index.json) and, from a
 * file with a tag, a plain root file system. An archive is a tar, plain or compressed, from a file or a pipe.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "store/store.h"

struct load_options {
	int fd;
	const char *const
		*tags; /* more names for the first image; the only names of a root file system */
	size_t n_tags;
	/* called for each reference after it was written */
	void (*report)(const char *reference, void *arg);
	void *report_arg;
};

MUST_USE int load_archive(const struct store *store, const struct load_options *o, struct err *e);
