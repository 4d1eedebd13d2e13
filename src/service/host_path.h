/* Resolves the host paths that a configuration contains. */
#pragma once

#include "base/str.h"

/* Returns PATH as an absolute path without links, `.` and `..`, in allocated memory. `~` means the
 * user's home. A relative path begins at BASE, or at the working directory if BASE is NULL.
 * Components that do not exist stay in the path. */
char *host_path_real(const char *base, struct str path);
