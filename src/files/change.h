/* Replaces a part of a text by another text, for edits of files. These functions do no I/O. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Returns the number of occurrences of FIND in TEXT that do not overlap. FIND must not be empty. */
size_t change_count(struct str text, struct str find);
/* Appends TEXT to OUT, with REPLACEMENT in the place of the first FIND. TEXT must contain FIND. */
void change_apply(struct str text, struct str find, struct str replacement, struct buf *out);
