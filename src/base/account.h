/* Finds the home directory of the user who runs this program. */
#pragma once

#include <limits.h>

/* Returns $HOME if it is an absolute path. Otherwise copies the home directory that the password database has for
 * the real user id of the process to PLACE, and returns PLACE. Returns NULL if the database has no home directory
 * either. */
const char *account_home(char place[PATH_MAX]);
