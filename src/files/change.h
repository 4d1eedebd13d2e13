/* Replaces a text that must occur exactly once by another text. Pure functions. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Returns how often FIND, which is not empty, occurs in TEXT. Occurrences do not overlap. */
size_t change_count(struct str text, struct str find);
/* Appends TEXT with the first FIND replaced. FIND must occur. */
void change_apply(struct str text, struct str find, struct str replacement, struct buf *out);
