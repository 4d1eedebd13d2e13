#include "base/table.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/say.h"
#include "base/str.h"

/* the most bytes of a table; a list of a hundred thousand sandboxes takes a tenth of this */
#define TABLE_MAX_BYTES (64u << 20)
#define GAP_WIDTH 4

void table_begin(struct table *t, const char *const *head, size_t n_columns)
{
	*t = (struct table){ .n_columns = n_columns };
	buf_init(&t->cells, TABLE_MAX_BYTES);
	table_add_row(t, head);
}

void table_add(struct table *t, const char *cell)
{
	buf_add_clean(&t->cells, cell ? cell : "-");
	buf_add_char(&t->cells, '\0');
	t->n_cells++;
}

void table_add_row(struct table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->n_columns; i++)
		table_add(t, cells[i]);
}

void table_end(struct table *t, struct buf *out)
{
	AUTO_FREE size_t *widest = xcalloc(t->n_columns, sizeof(*widest));
	const char *cell = buf_str(&t->cells);
	size_t n = buf_failed(&t->cells) ? 0 : t->n_cells;

	assert(t->n_cells % t->n_columns == 0);
	out->failed |= buf_failed(&t->cells);
	for (size_t i = 0; i < n; i++, cell += strlen(cell) + 1) {
		size_t width = utf8_width(cell), *max = &widest[i % t->n_columns];

		*max = width > *max ? width : *max;
	}
	cell = buf_str(&t->cells);
	for (size_t i = 0; i < n; i++, cell += strlen(cell) + 1) {
		size_t column = i % t->n_columns;

		buf_add_str(out, cell);
		if (column + 1 == t->n_columns)
			buf_add_char(out, '\n');
		else
			buf_add_fill(out, ' ', widest[column] - utf8_width(cell) + GAP_WIDTH);
	}
	buf_done(&t->cells);
}

int table_print(struct table *t)
{
	AUTO_BUF out = BUF_INIT(TABLE_MAX_BYTES);

	table_end(t, &out);
	return say_output(&out);
}
