/* Names in zip archives. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* RAW in UTF-8, allocated. Bytes that are no UTF-8 where the entry promises it become U+FFFD. */
char *zip_name_decode(struct str raw, bool utf8);
/* Where the entry NAME, which is not empty, belongs: normalised, with `/` for `\`. NULL if that is outside of the
 * archive, or if no file can have that name. *RET_IS_DIR: the name ends as those of directories do. */
char *zip_name_path(const char *name, bool *ret_is_dir);
