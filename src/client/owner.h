/*
 * Decides which user inside owns the files of shared directories: the user who works there.
 *
 * The user is chosen once, when the sandbox is created, by the image's /etc/passwd. The record keeps the ids, so a
 * restart does not change owners. In a user's sandbox the caller has the id of this user inside (base/rotation.h), and
 * the image's layers need a form with other owners.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct home;
struct image_fetch;

/* Sets S->owner if S has a shared directory and a user who is not root. The image of S must be resolved. If the image
 * does not know the user, the owner stays root; pid 1 refuses such a user when a command starts. */
MUST_USE int owner_find(const struct home *h, const struct image_fetch *f, struct spec *s,
			struct err *e);
/* Does the same for a record whose mounts have changed. An owner that was chosen before stays. A user's sandbox gets
 * no other owner after its creation, because its layers and its own files have the ids of the first map. If such a
 * sandbox has no owner yet but needs one now, *RET_FIXED is set, and the shared files belong to root inside. */
MUST_USE int owner_follow(const struct home *h, struct spec *s, bool *ret_fixed, struct err *e);
