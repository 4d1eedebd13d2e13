#include "store/table.h"

#include <string.h>

#define TABLE_MAX_BYTES (64u << 20)
#define TABLE_COLUMNS_MAX 8
#define TABLE_GAP 4

void table_init(struct table *t, size_t n_columns)
{
	*t = (struct table){ .n_columns = n_columns };
	buf_init(&t->cells, TABLE_MAX_BYTES);
}

void table_add(struct table *t, const char *cell)
{
	buf_add_clean(&t->cells, cell);
	buf_add_char(&t->cells, '\0');
	t->n_cells++;
}

/* In characters: continuation bytes of UTF-8 take no room. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void table_end(struct table *t, struct buf *out)
{
	size_t widest[TABLE_COLUMNS_MAX] = { 0 };
	const char *cell = buf_str(&t->cells);

	if (buf_failed(&t->cells))
		t->n_cells = 0; /* the caller sees OUT fail just as well: it has the same ceiling */
	for (size_t i = 0; i < t->n_cells; i++, cell += strlen(cell) + 1)
		if (width(cell) > widest[i % t->n_columns])
			widest[i % t->n_columns] = width(cell);
	cell = buf_str(&t->cells);
	for (size_t i = 0; i < t->n_cells; i++, cell += strlen(cell) + 1) {
		size_t column = i % t->n_columns;

		buf_add_str(out, cell);
		if (column + 1 < t->n_columns)
			buf_add_fill(out, ' ', widest[column] - width(cell) + TABLE_GAP);
		else
			buf_add_char(out, '\n');
	}
	buf_done(&t->cells);
}
