/* The account of the caller. */
#pragma once

#include <limits.h>

/* Returns the caller's home directory: $HOME if it is an absolute path, otherwise what the password database says about
 * our real user. PLACE holds the latter. Returns NULL if neither is known. */
const char *account_home(char place[PATH_MAX]);
