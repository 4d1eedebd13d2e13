/* Parses any bytes as JSON, and writes the parsed document. The written text must be strict JSON
 * and parse to an equal value. If the strict parser accepts a document, the lenient parser must
 * read the same value, or fail with ERR_LIMIT. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_str(struct str a, struct str b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0 && a.p[a.n] == '\0';
}

static bool same(const struct json_value *a, const struct json_value *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_INT:
		return a->integer == b->integer;
	case JSON_DOUBLE:
		return a->number == b->number;
	case JSON_STRING:
		return same_str(a->string, b->string);
	case JSON_ARRAY:
		for (size_t i = 0; i < a->array.n && a->array.n == b->array.n; i++)
			if (!same(&a->array.item[i], &b->array.item[i]))
				return false;
		return a->array.n == b->array.n;
	case JSON_OBJECT:
		for (size_t i = 0; i < a->object.n && a->object.n == b->object.n; i++)
			if (!same_str(a->object.member[i].key, b->object.member[i].key) ||
			    !same(&a->object.member[i].value, &b->object.member[i].value))
				return false;
		return a->object.n == b->object.n;
	}
	return false;
}

/* Writes the document and parses it strictly. */
static void check_writing(const struct json_doc *d, size_t size)
{
	struct err e = { 0 };

	for (unsigned indent = 0; indent <= 2; indent += 2) {
		/* an escape takes up to six bytes, and the indentation of a line up to two bytes
		 * per level of depth */
		AUTO_BUF b = BUF_INIT(size * (6 + 2 * JSON_DEPTH_MAX) + 64);
		AUTO_JSON again = NULL;
		struct json_writer w;

		json_writer_init(&w, &b, indent);
		json_value_copy(&w, json_root(d));
		if (buf_failed(&b) || json_parse(b.p, b.n, &again, &e) < 0 ||
		    !same(json_root(d), json_root(again)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_JSON d = NULL;
	AUTO_JSON lenient = NULL;
	struct err e = { 0 };
	int strict = json_parse((const char *)data, size, &d, &e);

	if (strict < 0 && (e.code == ERR_NONE || e.msg[0] == '\0'))
		abort();
	if (json_parse_lenient((const char *)data, size, &lenient, &e) < 0) {
		if (strict == 0 && e.code != ERR_LIMIT)
			abort();
	} else {
		check_writing(lenient, size);
		if (strict == 0 && !same(json_root(d), json_root(lenient)))
			abort();
	}
	if (strict == 0)
		check_writing(d, size);
	return 0;
}
