/* The account of the caller. */
#pragma once

#include <limits.h>

/* Returns the caller's home directory: $HOME if it is an absolute path, otherwise the home of our real user in the
 * password database, copied to PLACE. Returns NULL if neither is known. */
const char *account_home(char place[PATH_MAX]);
