/*
 * JSON: the only parser and writer of the project.
 *
 * Parsing is strict (RFC 8259, UTF-8, no duplicate keys, bounded depth and size). The parser
 * returns a read-only tree of values. The whole tree is one allocation, which json_free() releases.
 * The writer cannot produce invalid JSON. json_decode() copies the members of an object into a
 * plain struct, as a table of fields says. If a required member is missing, or if a member has the
 * wrong type or is out of range, the error message names the member by its path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 64         /* real documents nest at most ten deep */
#define JSON_TEXT_MAX (64u << 20) /* bytes of one document; callers usually set a lower limit */

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,
	JSON_DOUBLE,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_value {
	enum json_type type;
	union {
		bool boolean;
		/* a number without fraction or exponent that fits into 64 bits */
		int64_t integer;
		double number;     /* any other number */
		struct str string; /* also NUL-terminated; contains NULs if the text had \u0000 */
		struct {
			size_t n;
			const struct json_value *item;
		} array;
		struct {
			size_t n;
			/* in the order of the text */
			const struct json_member *member;
		} object;
	};
};

struct json_member {
	struct str key;
	struct json_value value;
};

struct json_doc;

/* The most values in a text for json_parse_lenient(). This many values take 40 MB of memory.
 * Without the limit, a text `[0,0,…` of 16 MiB would take 320 MB. */
#define JSON_LENIENT_VALUES_MAX 1000000u

/* Parses exactly one value with optional white space around it. Fails with ERR_INVALID if the
 * text is not valid; the message says the line and the column. Fails with ERR_LIMIT for a text
 * longer than JSON_TEXT_MAX. After a failure no part of the text stays in memory that was freed. */
MUST_USE int json_parse(const char *p, size_t n, struct json_doc **ret, struct err *e);
/* Does the same as json_parse(), for texts that Python's json module wrote. Half a surrogate pair
 * becomes U+FFFD. If several members have the same key, the first of them gets the value of the
 * last, and the others are dropped. If the text has more than JSON_LENIENT_VALUES_MAX values, fails
 * with ERR_LIMIT before it allocates memory. */
MUST_USE int json_parse_lenient(const char *p, size_t n, struct json_doc **ret, struct err *e);
void json_free(struct json_doc *d);
/* Returns the bytes of memory that D takes. */
size_t json_held_bytes(const struct json_doc *d);
const struct json_value *json_root(const struct json_doc *d);
static inline void json_freep(struct json_doc **d)
{
	json_free(*d);
	*d = NULL;
}
#define AUTO_JSON __attribute__((cleanup(json_freep))) struct json_doc *
/* For documents with passwords: overwrites the memory before it is freed. */
void json_wipep(struct json_doc **d);
#define AUTO_SECRET_JSON __attribute__((cleanup(json_wipep))) struct json_doc *

/* Returns the member's value, or NULL if V is not an object or has no such member. */
const struct json_value *json_get(const struct json_value *v, const char *key);
/* These functions return FALLBACK if the member is absent, null or of another type. */
const char *json_get_str(const struct json_value *v, const char *key, const char *fallback);
int64_t json_get_int(const struct json_value *v, const char *key, int64_t fallback);
bool json_get_bool(const struct json_value *v, const char *key, bool fallback);

/* --- writing ------------------------------------------------------------------------------ */

struct json_writer {
	struct buf *out;
	unsigned indent; /* spaces per level; 0 writes compactly on one line */
	unsigned depth;
	bool need_comma;
	bool after_key;
};

/* `--format json` uses INDENT 2; records and protocols use 0. */
void json_writer_init(struct json_writer *w, struct buf *out, unsigned indent);
void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_null(struct json_writer *w);
void json_bool(struct json_writer *w, bool v);
void json_int(struct json_writer *w, int64_t v);
void json_uint(struct json_writer *w, uint64_t v);
void json_double(struct json_writer *w, double v);
/* Writes a string. Bytes that are not UTF-8 become U+FFFD. A caller that must keep such bytes
 * uses base64. */
void json_str(struct json_writer *w, const char *s); /* NULL writes null */
void json_strn(struct json_writer *w, const char *p, size_t n);
void json_value_copy(struct json_writer *w, const struct json_value *v);
/* Adds a complete value that another writer of ours has written compactly. */
void json_written(struct json_writer *w, const char *p, size_t n);
/* These functions write a key and its value. */
void json_key_str(struct json_writer *w, const char *key, const char *s);
void json_key_int(struct json_writer *w, const char *key, int64_t v);
void json_key_bool(struct json_writer *w, const char *key, bool v);
void json_key_null(struct json_writer *w, const char *key);

/* --- decoding by table --------------------------------------------------------------------- */

enum json_need { JSON_OPTIONAL, JSON_REQUIRED };
enum json_field_kind { JSON_FIELD_STR, JSON_FIELD_INT, JSON_FIELD_BOOL, JSON_FIELD_VALUE };

struct json_field {
	const char *key;
	enum json_field_kind kind;
	enum json_need need;
	size_t offset;
	int64_t min, max;
};

/* The type of a FIELD_STR in the struct is `const char *`. The pointer points into the document;
 * json_decode() refuses a string that contains NUL. FIELD_INT is an int64_t, FIELD_BOOL a bool, and
 * FIELD_VALUE a `const struct json_value *`. If an optional member is absent or null, the struct
 * keeps the caller's value. */
// clang-format off
#define FIELD_STR(type, name, need) { #name, JSON_FIELD_STR, need, offsetof(type, name), 0, 0 }
#define FIELD_INT(type, name, need, lo, hi) { #name, JSON_FIELD_INT, need, offsetof(type, name), lo, hi }
#define FIELD_BOOL(type, name, need) { #name, JSON_FIELD_BOOL, need, offsetof(type, name), 0, 0 }
#define FIELD_VALUE(type, name, need) { #name, JSON_FIELD_VALUE, need, offsetof(type, name), 0, 0 }
// clang-format on

/* Copies the members of the object V into the struct OUT, as the table F says. If STRICT is true, a
 * member that is not in the table is an error. Messages put PATH in front of a member's name
 * ("params.timeout_ms: expected integer 1..9, got string"). Returns 0, or -1 with *OUT
 * unchanged. */
MUST_USE int json_decode(const struct json_value *v, const char *path, const struct json_field *f,
			 size_t n_fields, bool strict, void *out, struct err *e);
