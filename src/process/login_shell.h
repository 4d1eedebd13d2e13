/*
 * Makes an /etc/profile with a block of our own, and finds a bash for images without one. Both
 * files are mounted in the sandbox; the image itself never changes.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "process/rootfs.h"

/* Returns the text of /etc/profile for the root *R, in allocated memory: the image's own text and
 * our block, which adds /.msb/scripts to PATH. If WITH_FALLBACK is true, the block also adds
 * /.msb/bin, where the bash of login_shell_fallback() is. Returns NULL if the image's /etc/profile
 * is missing, cannot be read, is too long or holds a NUL byte. */
char *login_shell_profile(const struct rootfs *r, bool with_fallback);
/* Opens a static bash of this host for the root *R. Sets *RET_FD to -1 if the image has a bash.
 * Fails with ERR_UNSUPPORTED if the image has no bash and this host has no static bash. */
MUST_USE int login_shell_fallback(const struct rootfs *r, int *ret_fd, struct err *e);
