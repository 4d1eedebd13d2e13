/* Paths that a model writes. This code does no I/O. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define PATH_MAX_BYTES 4095u /* what the kernel accepts */

/* Appends to OUT the part of PATH that lies below the absolute path TOP. Appends nothing if PATH is
 * TOP itself. Removes empty and `.` components, and resolves `..`. A relative path begins at TOP.
 * Returns 0, -EINVAL if PATH is not below TOP, -EXDEV if `..` leads above TOP, or -ENAMETOOLONG. */
MUST_USE int path_from_top(const char *top, struct str path, struct buf *out);
