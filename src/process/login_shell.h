/*
 * Makes /etc/profile with our block in it, and finds a bash for images that have none. Both are mounted over or beside
 * the files of the image; the image itself never changes.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "process/rootfs.h"

/* Returns the allocated text of /etc/profile for the root R, or NULL if the image has no such file or an unusual
 * one. */
char *login_shell_profile(const struct rootfs *r, bool with_fallback);
/* Opens a static bash for R, or sets -1 if the image has a bash. Fails with ERR_UNSUPPORTED if this host has no static
 * bash. */
MUST_USE int login_shell_fallback(const struct rootfs *r, int *ret_fd, struct err *e);
