#include "wire/hand.h"

#include <errno.h>

/* These numbers are part of the protocol: never use a number again for another tag, and add new
 * tags at the end. If cordon is upgraded while a server runs, this older server starts hands of the
 * new version, and the server and these hands must understand each other. */
enum tag {
	TAG_TASK = 1,
	TAG_SPEC = 2,
	TAG_NAME = 3,
	TAG_PATH = 4,
	TAG_MAX_BYTES = 5,
	TAG_MAX_ENTRIES = 6,
	TAG_REFUSED = 7,
	TAG_ROOT = 8,
	TAG_MAKEABLE = 9,
	TAG_CODE = 10,
	TAG_TEXT = 11,
	TAG_HINT = 12,
	TAG_WARNINGS = 13,
	TAG_BYTES = 14,
	TAG_ENTRIES = 15,
	TAG_JUDGED = 16,
	TAG_MOUNT = 17,
	TAG_LITERAL = 18,
	TAG_ERASE = 19,
	TAG_HELD = 20,
	TAG_FOUND = 21,
	TAG_USABLE = 22,
};

static int get_number(const struct field *f, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (!field_u64(f, &v) || v > max)
		return -EPROTO;
	*ret = v;
	return 0;
}

static int get_flag(const struct field *f, bool *ret)
{
	uint64_t v;

	if (get_number(f, 1, &v) < 0)
		return -EPROTO;
	*ret = v;
	return 0;
}

static int get_str(const struct field *f, const char **ret)
{
	*ret = field_str(f);
	return *ret ? 0 : -EPROTO;
}

static int get_path(const struct field *f, const char **ret)
{
	return get_str(f, ret) < 0 || **ret != '/' ? -EPROTO : 0;
}

static int add_path(const struct field *f, const char *list[HAND_PATHS_MAX], size_t *n)
{
	return *n == HAND_PATHS_MAX ? -EPROTO : get_path(f, &list[(*n)++]);
}

/* --- requests -------------------------------------------------------------------------------- */

void hand_request_encode(struct buf *b, const struct hand_request *m)
{
	field_put_u64(b, TAG_TASK, (uint64_t)m->task);
	if (m->spec.n)
		field_put(b, TAG_SPEC, m->spec.p, m->spec.n);
	if (m->name)
		field_put_str(b, TAG_NAME, m->name);
	if (m->path)
		field_put_str(b, TAG_PATH, m->path);
	field_put_u64(b, TAG_MAX_BYTES, m->max_bytes);
	field_put_u64(b, TAG_MAX_ENTRIES, m->max_entries);
	for (size_t i = 0; i < m->n_refused; i++)
		field_put_str(b, TAG_REFUSED, m->refused[i]);
	for (size_t i = 0; i < m->n_roots; i++)
		field_put_str(b, TAG_ROOT, m->root[i]);
	field_put_u64(b, TAG_MAKEABLE, m->makeable);
	if (m->judged)
		field_put_str(b, TAG_JUDGED, m->judged);
	field_put_u64(b, TAG_LITERAL, m->literal);
	field_put_u64(b, TAG_ERASE, m->erase);
}

static int request_field(const struct field *f, struct hand_request *m)
{
	uint64_t v;

	switch (f->tag) {
	case TAG_TASK:
		if (get_number(f, HAND_TASK_COUNT - 1, &v) < 0)
			return -EPROTO;
		m->task = (enum hand_task)v;
		return 0;
	case TAG_SPEC:
		m->spec = f->value;
		return 0;
	case TAG_NAME:
		return get_str(f, &m->name);
	case TAG_PATH:
		return get_path(f, &m->path);
	case TAG_MAX_BYTES:
		return get_number(f, UINT64_MAX, &m->max_bytes);
	case TAG_MAX_ENTRIES:
		return get_number(f, UINT64_MAX, &m->max_entries);
	case TAG_REFUSED:
		return add_path(f, m->refused, &m->n_refused);
	case TAG_ROOT:
		return add_path(f, m->root, &m->n_roots);
	case TAG_MAKEABLE:
		return get_number(f, UINT32_MAX, &m->makeable);
	case TAG_JUDGED:
		return get_path(f, &m->judged);
	case TAG_LITERAL:
		return get_flag(f, &m->literal);
	case TAG_ERASE:
		return get_flag(f, &m->erase);
	default:
		return 0;
	}
}

static bool is_whole(const struct hand_request *m)
{
	switch (m->task) {
	case HAND_CREATE:
		return m->spec.n > 0;
	case HAND_START:
		return m->name;
	case HAND_SWEEP:
		return true;
	case HAND_SIZE:
	case HAND_WORKSPACE:
		return m->path;
	case HAND_MARKER:
		return m->path && m->name;
	default:
		return false;
	}
}

int hand_request_decode(struct str body, struct hand_request *ret)
{
	struct field f;
	int r;

	*ret = (struct hand_request){ 0 };
	while ((r = field_next(&body, &f)) > 0)
		if (request_field(&f, ret) < 0)
			return -EPROTO;
	return r < 0 || !is_whole(ret) ? -EPROTO : 0;
}

/* --- answers --------------------------------------------------------------------------------- */

void hand_answer_encode(struct buf *b, const struct hand_answer *m)
{
	field_put_u64(b, TAG_CODE, m->code);
	if (m->text && *m->text)
		field_put_str(b, TAG_TEXT, m->text);
	if (m->hint)
		field_put_str(b, TAG_HINT, m->hint);
	if (m->warnings && *m->warnings)
		field_put_str(b, TAG_WARNINGS, m->warnings);
	field_put_u64(b, TAG_MOUNT, m->mount);
	field_put_u64(b, TAG_BYTES, m->bytes);
	field_put_u64(b, TAG_ENTRIES, m->entries);
	if (m->held && *m->held)
		field_put_str(b, TAG_HELD, m->held);
	if (m->found && *m->found)
		field_put_str(b, TAG_FOUND, m->found);
	field_put_u64(b, TAG_USABLE, m->usable);
}

static int answer_field(const struct field *f, struct hand_answer *m)
{
	uint64_t v;

	switch (f->tag) {
	case TAG_CODE:
		if (get_number(f, ERR_CODE_COUNT - 1, &v) < 0)
			return -EPROTO;
		m->code = (unsigned)v;
		return 0;
	case TAG_TEXT:
		return get_str(f, &m->text);
	case TAG_HINT:
		return get_str(f, &m->hint);
	case TAG_WARNINGS:
		return get_str(f, &m->warnings);
	case TAG_MOUNT:
		return get_number(f, UINT32_MAX, &m->mount);
	case TAG_BYTES:
		return get_number(f, UINT64_MAX, &m->bytes);
	case TAG_ENTRIES:
		return get_number(f, UINT64_MAX, &m->entries);
	case TAG_HELD:
		return get_str(f, &m->held);
	case TAG_FOUND:
		return get_str(f, &m->found);
	case TAG_USABLE:
		return get_flag(f, &m->usable);
	default:
		return 0;
	}
}

int hand_answer_decode(struct str body, struct hand_answer *ret)
{
	struct field f;
	int r;

	*ret = (struct hand_answer){ .text = "", .warnings = "", .held = "", .found = "" };
	while ((r = field_next(&body, &f)) > 0)
		if (answer_field(&f, ret) < 0)
			return -EPROTO;
	return r < 0 ? -EPROTO : 0;
}
