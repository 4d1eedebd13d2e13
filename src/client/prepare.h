/*
 * Prepares a spec for a launch, after options, files or a server have filled the spec: checks it, looks up every path
 * in it once and holds the path, and finds or fetches the image. Mistakes are found here, before anything of the
 * sandbox is made. This may take long, because an image may have to be fetched.
 */
#pragma once

#include "client/image.h"
#include "spec/spec.h"

struct home;
struct source_rules;

/* What is not part of the spec. Everything is borrowed. */
struct preparation {
	const char *
		image_word; /* the image as the caller wrote it, for messages; NULL: as the spec has it */
	const struct source_rules *rules; /* NULL: every path of the host may be named */
	/* set to the number of the mount that a failure is about, counted from 1, or to 0; may
	 * be NULL */
	size_t *ret_mount;
	struct image_fetch fetch;
};

MUST_USE int prepare(const struct home *h, const struct preparation *p, struct spec *s,
		     struct err *e);
