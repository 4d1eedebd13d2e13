/*
 * Decides which user inside owns the files of shared directories: the user who works there.
 *
 * The user is chosen once, when the sandbox is created, by the image's /etc/passwd. The record keeps the ids, so a
 * restart does not change owners.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct home;

/* Sets S->owner if S has a shared directory and a user who is not root. The image of S must be resolved. If the image
 * does not know the user, the owner stays root; pid 1 refuses such a user when a command starts. */
MUST_USE int owner_find(const struct home *h, struct spec *s, struct err *e);
/* Does the same for a record whose mounts have changed. An owner that was chosen before stays. */
MUST_USE int owner_follow(const struct home *h, struct spec *s, struct err *e);
