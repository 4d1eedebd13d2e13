#include "tool/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/table.h"

#define CELL_MAX_BYTES (64u << 10)
#define COLUMNS_MAX 6

struct column {
	const char *key, *head;
};

static const struct {
	const char *verb;
	struct column column[COLUMNS_MAX];
} listings[] = {
	{ "sessions",
	  { { "session_id", "SESSION" },
	    { "backend_name", "BACKEND" },
	    { "image", "IMAGE" },
	    { "host_path", "DIRECTORY" },
	    { "created_at", "CREATED" },
	    { "last_used_at", "LAST USED" } } },
	{ "errors",
	  { { "timestamp", "TIME" },
	    { "type", "TYPE" },
	    { "query_id", "QUERY" },
	    { "message", "MESSAGE" } } },
};

/* Adds V as a cell. A text is shown as it is, and any other value as JSON. */
static void add_cell(struct table *t, const struct json_value *v)
{
	AUTO_BUF cell = BUF_INIT(CELL_MAX_BYTES);
	struct json_writer w;

	if (!v || v->type == JSON_NULL) {
		table_add(t, NULL);
		return;
	}
	if (v->type == JSON_STRING) {
		table_add(t, v->string.p);
		return;
	}
	json_writer_init(&w, &cell, 0);
	json_value_copy(&w, v);
	table_add(t, buf_failed(&cell) ? "…" : buf_str(&cell));
}

static void write_members(const struct json_value *v, struct buf *out)
{
	struct table t;

	TABLE_BEGIN(&t, "KEY", "VALUE");
	for (size_t i = 0; i < v->object.n; i++) {
		table_add(&t, v->object.member[i].key.p);
		add_cell(&t, &v->object.member[i].value);
	}
	table_end(&t, out);
}

static void write_list(const struct column *column, const struct json_value *v, struct buf *out)
{
	const char *head[COLUMNS_MAX];
	struct table t;
	size_t n = 0;

	for (; n < COLUMNS_MAX && column[n].key; n++)
		head[n] = column[n].head;
	table_begin(&t, head, n);
	for (size_t i = 0; i < v->array.n; i++)
		for (size_t k = 0; k < n; k++)
			add_cell(&t, json_get(&v->array.item[i], column[k].key));
	table_end(&t, out);
}

void text_write(const char *verb, const struct json_value *v, struct buf *out)
{
	if (v->type == JSON_OBJECT)
		write_members(v, out);
	for (size_t i = 0; v->type == JSON_ARRAY && i < ARRAY_SIZE(listings); i++)
		if (strcmp(listings[i].verb, verb) == 0)
			write_list(listings[i].column, v, out);
}
