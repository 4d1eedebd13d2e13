/*
 * Looks up the paths of the host that a spec names: mounts, the root directory, the root disk, and
 * what is copied in. Each path is looked up once; the spec then has its canonical path and its
 * identity (base/identity.h). A path that leads into our own state is refused. A mount whose
 * options the engine cannot fulfil is refused too.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct home;
struct source_rules;
struct spec;

/* Looks up and checks everything that S names. IMAGE_WORD is the image as the user wrote it, for
 * messages, or NULL. RULES say which paths a server allows; NULL means all paths. After a failure,
 * *RET_MOUNT is the number of the mount that caused it, counted from 1, or 0 if no mount did. */
MUST_USE int sources_hold(struct spec *s, const char *image_word, const struct source_rules *rules,
			  const struct home *h, size_t *ret_mount, struct err *e);
/* Does the same as sources_hold(), but only for the mounts of S. `modify` uses it to change an
 * existing sandbox. */
MUST_USE int sources_hold_mounts(struct spec *s, const struct home *h, struct err *e);
