/* Names in zip archives. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Returns RAW as allocated UTF-8. If UTF8 is true, the archive says that RAW is UTF-8, and invalid
 * bytes become U+FFFD. Otherwise RAW is in code page 437. */
char *zip_name_decode(struct str raw, bool utf8);
/* Turns NAME, which must not be empty, into a normalised path, with `/` instead of `\`. Returns
 * NULL if the path leads out of the archive, or if no file can have this path. *RET_IS_DIR becomes
 * true if the name ends with a slash. */
char *zip_name_path(const char *name, bool *ret_is_dir);
