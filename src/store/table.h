/* Columns padded to the widest cell, four blanks between, the last one unpadded. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct table {
	size_t n_columns, n_cells;
	struct buf cells; /* each ends in NUL */
};

void table_init(struct table *t, size_t n_columns);
void table_add(struct table *t, const char *cell);
/* Appends the whole to OUT and releases. */
void table_end(struct table *t, struct buf *out);
