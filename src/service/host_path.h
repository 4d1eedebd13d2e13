/* Paths of this machine as a configuration names them. */
#pragma once

#include "base/str.h"

/* Returns PATH as an allocated absolute path without links, `.` and `..`. `~` is the user's home. A relative path begins
 * at BASE, or at the working directory if BASE is NULL. Components that do not exist stay in the path. */
char *host_path_real(const char *base, struct str path);
