/* How the tools `write` and `edit` put content into a file, and what they answer. */
#pragma once

#include <sys/stat.h>

#include "tool/place.h"

enum store_mode { STORE_REPLACE, STORE_APPEND };

/* Writes CONTENT to the file P, and writes the result of the tool to C->w. If OLD is NULL, missing
 * directories are made. Otherwise the call fails unless P is still the file that OLD describes. OLD
 * must be NULL for STORE_APPEND, and for a file that exists in the sandbox only. */
MUST_USE int store_content(struct file_call *c, const struct place *p, struct str content,
			   enum store_mode mode, const struct stat *old, struct fault *f);
