/*
 * What login shells and shell-less images need: /etc/profile with our block in it, and a bash for
 * images that have none. Both are put beside the image's files, never into them.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "process/rootfs.h"

/* The text of /etc/profile for this root, or NULL when the image has none to speak of. Allocated. */
char *login_shell_profile(const struct rootfs *r, bool with_fallback);
/* A descriptor of the static bash to lend, or -1: the image has its own. ERR_UNSUPPORTED when the
 * host has none to lend. */
MUST_USE int login_shell_fallback(const struct rootfs *r, int *ret_fd, struct err *e);
