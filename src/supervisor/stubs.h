/*
 * Mount points that a directory image lacks. The directory is the user's: what we must add to it is
 * made by descriptor, remembered in the record, and removed when the sandbox ends, only if it is
 * still the same and still empty.
 */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

/* Makes what is missing for SPEC below ROOT and notes it in RECORD_DIR. */
MUST_USE int stubs_make(int record_dir, int root, const struct spec *spec, struct err *e);
/* Removes what the record remembers. Harmless when there is nothing. Another live sandbox on the
 * same directory keeps them: removing a mount point would unmount it there. */
void stubs_remove(int record_dir, const char *root_path);
/* Keeps others from removing stubs under a live sandbox; the descriptor holds it, or -errno. */
int stubs_hold(const char *root_path);
