/* A table for people. Columns are padded to their widest cell, with four spaces between them; the
 * last column is not padded. The width of a text is its number of code points. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct table {
	size_t n_columns, n_cells;
	struct buf cells; /* the texts of the cells, each with a terminator */
};

/* Begins a table with the cells of its first row: TABLE_BEGIN(&t, "NAME", "IMAGE"). */
#define TABLE_BEGIN(t, ...)                                  \
	table_begin(t, (const char *const[]){ __VA_ARGS__ }, \
		    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))
#define TABLE_ROW(t, ...) table_add_row(t, (const char *const[]){ __VA_ARGS__ })

void table_begin(struct table *t, const char *const *head, size_t n_columns);
/* Adds the next cell. Control characters appear as \xNN, and NULL as "-". */
void table_add(struct table *t, const char *cell);
/* Adds a row. CELLS has one element for each column. */
void table_add_row(struct table *t, const char *const *cells);
/* Appends the table to OUT and frees the memory of the table. */
void table_end(struct table *t, struct buf *out);
/* Writes the table to stdout as say_output() does, and frees the memory of the table. Returns the
 * exit status. */
int table_print(struct table *t);
