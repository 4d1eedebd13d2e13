/* Finds the home directory of the user who runs this program. */
#pragma once

#include <limits.h>

/* Returns $HOME if it is an absolute path. Otherwise looks up the home directory of the process's
 * real user id in the password database, copies it to PLACE, and returns PLACE. Returns NULL if the
 * database has no home directory either. */
const char *account_home(char place[PATH_MAX]);
