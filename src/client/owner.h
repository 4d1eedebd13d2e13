/*
 * Decides which user of the sandbox owns the files of shared directories. The owner is the user as
 * whom the sandbox's commands run.
 *
 * This user is chosen once, when the sandbox is created. The image's /etc/passwd says which ids the
 * user has. The record keeps the ids, so a restart does not change owners. If an ordinary user runs
 * cordon, the files of this person belong to the chosen user in the sandbox (base/rotation.h). For
 * such a sandbox, the store unpacks the image's layers once more, with other owners of the files.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

struct home;
struct image_fetch;

/* Sets S->owner if S has a shared directory and a user who is not root. The image of S must be
 * resolved. If the image does not know the user, the owner stays root; pid 1 refuses such a user
 * when a command starts. */
MUST_USE int owner_find(const struct home *h, const struct image_fetch *f, struct spec *s,
			struct err *e);
/* Does the same as owner_find(), for a record whose mounts have changed. If an owner was chosen
 * before, the owner stays. If the sandbox has no owner yet and now needs one, S->owner is set.
 * But if an ordinary user runs cordon, this is too late: the files of the sandbox already have the
 * ids that were chosen at its creation. In this case S->owner stays unset, *RET_FIXED becomes true,
 * and the shared files belong to root in the sandbox. */
MUST_USE int owner_follow(const struct home *h, struct spec *s, bool *ret_fixed, struct err *e);
