#include "wire/background.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* These numbers are part of the protocol: never reuse one; add new tags at the end. */
enum tag {
	TAG_ID = 1,
	TAG_FLAGS = 2,
	TAG_OFFSET = 3,
	TAG_MOST = 4,
	TAG_DATA = 5,
	TAG_PID = 6,
	TAG_AGE_MS = 7,
	TAG_ENDED_MS = 8,
	TAG_END = 9,
	TAG_WORDS = 10,
	TAG_TOTAL = 11,
	TAG_FIRST = 12,
	TAG_ROOM = 13,
	TAG_REPORT = 14,
	TAG_TAKEN = 15,
};

/* The tags of struct attached_message. Pid 1 adds these fields to STARTED if STARTED answers
 * ATTACH. All other tags of STARTED are in message.c. */
enum attached_tag { TAG_KEPT = 100, TAG_FRESH = 101, TAG_SCREEN = 102 };

struct number {
	uint8_t tag;
	size_t offset;
	uint64_t max;
};

#define OFFSET_MAX (UINT64_MAX / 2) /* so the sum of two offsets cannot wrap */

static void put_numbers(struct buf *b, const struct number *table, size_t n, const void *m)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v;

		memcpy(&v, (const char *)m + table[i].offset, sizeof(v));
		if (v)
			field_put_u64(b, table[i].tag, v);
	}
}

static int get_number(const struct field *f, const struct number *table, size_t n, void *m)
{
	uint64_t v;

	for (size_t i = 0; i < n; i++) {
		if (f->tag != table[i].tag)
			continue;
		if (!field_u64(f, &v) || v > table[i].max)
			return -EPROTO;
		memcpy((char *)m + table[i].offset, &v, sizeof(v));
	}
	return 0;
}

static int get_bytes(const struct field *f, size_t max, struct str *ret)
{
	if (f->value.n > max)
		return -EPROTO;
	*ret = f->value;
	return 0;
}

// clang-format off
static const struct number look_numbers[] = {
	{ TAG_ID,     offsetof(struct look_message, id),     UINT64_MAX },
	{ TAG_FLAGS,  offsetof(struct look_message, flags),  UINT16_MAX },
	{ TAG_OFFSET, offsetof(struct look_message, offset), OFFSET_MAX },
	{ TAG_MOST,   offsetof(struct look_message, most),   BACKGROUND_OUTPUT_BYTES },
};

static const struct number feed_numbers[] = {
	{ TAG_ID, offsetof(struct feed_message, id), UINT64_MAX },
};

static const struct number command_numbers[] = {
	{ TAG_ID,       offsetof(struct command_message, id),       UINT64_MAX },
	{ TAG_FLAGS,    offsetof(struct command_message, flags),    UINT16_MAX },
	{ TAG_PID,      offsetof(struct command_message, pid),      INT32_MAX },
	{ TAG_AGE_MS,   offsetof(struct command_message, age_ms),   OFFSET_MAX },
	{ TAG_ENDED_MS, offsetof(struct command_message, ended_ms), OFFSET_MAX },
	{ TAG_TOTAL,    offsetof(struct command_message, total),    OFFSET_MAX },
	{ TAG_FIRST,    offsetof(struct command_message, first),    OFFSET_MAX },
	{ TAG_ROOM,     offsetof(struct command_message, room),     BACKGROUND_INPUT_BYTES },
	{ TAG_REPORT,   offsetof(struct command_message, report),   REPORT_MAX_BYTES },
	{ TAG_OFFSET,   offsetof(struct command_message, offset),   OFFSET_MAX },
	{ TAG_TAKEN,    offsetof(struct command_message, taken),    FRAME_DATA_MAX_BYTES },
};
// clang-format on

void look_encode(struct buf *b, const struct look_message *m)
{
	put_numbers(b, look_numbers, ARRAY_SIZE(look_numbers), m);
}

int look_decode(struct str body, struct look_message *ret)
{
	struct field f;
	int r;

	*ret = (struct look_message){ 0 };
	while ((r = field_next(&body, &f)) > 0)
		if (get_number(&f, look_numbers, ARRAY_SIZE(look_numbers), ret) < 0)
			return -EPROTO;
	return r;
}

void feed_encode(struct buf *b, const struct feed_message *m)
{
	put_numbers(b, feed_numbers, ARRAY_SIZE(feed_numbers), m);
	if (m->end)
		field_put_u64(b, TAG_END, 1);
	field_put(b, TAG_DATA, m->data.p, m->data.n);
}

int feed_decode(struct str body, struct feed_message *ret)
{
	struct field f;
	uint64_t v;
	int r;

	*ret = (struct feed_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		r = get_number(&f, feed_numbers, ARRAY_SIZE(feed_numbers), ret);
		if (f.tag == TAG_DATA) {
			r = get_bytes(&f, FRAME_DATA_MAX_BYTES, &ret->data);
		} else if (f.tag == TAG_END) {
			r = field_u64(&f, &v) && v <= 1 ? 0 : -EPROTO;
			ret->end = r == 0 && v == 1;
		}
		if (r < 0)
			return r;
	}
	return r;
}

void command_encode(struct buf *b, const struct command_message *m)
{
	put_numbers(b, command_numbers, ARRAY_SIZE(command_numbers), m);
	if (m->words.n)
		field_put(b, TAG_WORDS, m->words.p, m->words.n);
	if (m->flags & COMMAND_ENDED) {
		AUTO_BUF end = BUF_INIT(4096);

		exit_encode(&end, &m->end);
		field_put(b, TAG_END, end.p, end.n);
	}
	if (m->data.n)
		field_put(b, TAG_DATA, m->data.p, m->data.n);
}

int command_decode(struct str body, struct command_message *ret)
{
	struct field f;
	int r;

	*ret = (struct command_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		r = get_number(&f, command_numbers, ARRAY_SIZE(command_numbers), ret);
		if (f.tag == TAG_WORDS)
			r = get_bytes(&f, BACKGROUND_WORDS_MAX_BYTES, &ret->words);
		else if (f.tag == TAG_DATA)
			r = get_bytes(&f, BACKGROUND_OUTPUT_BYTES, &ret->data);
		else if (f.tag == TAG_END)
			r = exit_decode(f.value, &ret->end);
		if (r < 0)
			return r;
	}
	if (r < 0 || ret->id == 0 || ret->first > ret->total)
		return -EPROTO;
	return ret->words.n && ret->words.p[ret->words.n - 1] ? -EPROTO : 0;
}

/* --- STARTED after ATTACH -------------------------------------------------------------------- */

static const struct number attached_numbers[] = {
	{ TAG_KEPT, offsetof(struct attached_message, kept), BACKGROUND_OUTPUT_BYTES },
	{ TAG_FRESH, offsetof(struct attached_message, fresh), BACKGROUND_OUTPUT_BYTES },
};

void attached_encode(struct buf *b, const struct attached_message *m)
{
	put_numbers(b, attached_numbers, ARRAY_SIZE(attached_numbers), m);
	if (m->screen.n)
		field_put(b, TAG_SCREEN, m->screen.p, m->screen.n);
}

int attached_decode(struct str body, struct attached_message *ret)
{
	struct field f;
	int r;

	*ret = (struct attached_message){ 0 };
	while ((r = field_next(&body, &f)) > 0) {
		if (get_number(&f, attached_numbers, ARRAY_SIZE(attached_numbers), ret) < 0)
			return -EPROTO;
		if (f.tag == TAG_SCREEN)
			ret->screen = f.value;
	}
	return r < 0 || ret->fresh > ret->kept || ret->screen.n > SCREEN_TEXT_MAX_BYTES ? -EPROTO
											: 0;
}
