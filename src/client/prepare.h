/*
 * Prepares a spec that options, files or a server have filled, before the sandbox is launched.
 * Checks the spec. Looks up every path of the spec once, and keeps the object that was found. Finds
 * or fetches the image, which may take long. So mistakes are found before anything of the sandbox
 * is made.
 */
#pragma once

#include "client/image.h"
#include "spec/spec.h"

struct home;
struct source_rules;

/* What is needed besides the spec. All pointers are borrowed. */
struct preparation {
	/* the image as the user wrote it, for messages; NULL if the spec has the same text */
	const char *image_word;
	/* which paths of the host may be named; NULL means all paths */
	const struct source_rules *rules;
	/* after a failure: the number of the mount that caused it, counted from 1, or 0 if no mount
	 * did; may be NULL */
	size_t *ret_mount;
	struct image_fetch fetch;
};

MUST_USE int prepare(const struct home *h, const struct preparation *p, struct spec *s,
		     struct err *e);
