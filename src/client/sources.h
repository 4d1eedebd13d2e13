/*
 * The paths of the host that a spec names: mounts, the root directory, the root disk. Each is
 * looked up once and held as a canonical path with an identity. A path that leads into our own
 * state is refused, and so is a mount with options that the engine cannot fulfil.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct home;
struct source_rules;
struct spec;

/* Looks up and checks everything that S names. IMAGE_WORD is the image as the caller wrote it, for messages, or NULL.
 * RULES say what a server allows; NULL: everything is allowed. *RET_MOUNT is the mount that a failure is about, counted
 * from 1, or 0. */
MUST_USE int sources_hold(struct spec *s, const char *image_word, const struct source_rules *rules,
			  const struct home *h, size_t *ret_mount, struct err *e);
/* Does the same for the mounts of S only; for a change of a sandbox that exists. */
MUST_USE int sources_hold_mounts(struct spec *s, const struct home *h, struct err *e);
