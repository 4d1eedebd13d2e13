/*
 * An archive ends with the end record, after which only a comment may follow. The end record has
 * the offset and the length of the directory, which is the list of all entries. If other bytes
 * stand before the archive, all offsets are too small by the number of these bytes. In archives
 * with 64-bit sizes, a second end record and a locator stand before this end record. Each entry of
 * the directory tells the offset of the entry's own header. That header repeats the name, and the
 * packed bytes follow it.
 *
 * Every number is checked against the length of the archive before it is used. Sums are 64 bits
 * wide and stay far below their maximum, so they cannot overflow.
 */
#include "skills/zip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "skills/name.h"
#include "skills/zip_name.h"

#define END_BYTES 22u
#define END_64_BYTES 56u
#define LOCATOR_BYTES 20u
#define CENTRAL_BYTES 46u
#define LOCAL_BYTES 30u
#define COMMENT_MAX_BYTES 65535u

#define END_MARK 0x06054b50u
#define END_64_MARK 0x06064b50u
#define LOCATOR_MARK 0x07064b50u
#define CENTRAL_MARK 0x02014b50u
#define LOCAL_MARK 0x04034b50u

#define FLAG_ENCRYPTED 0x0001u
#define FLAG_UTF8 0x0800u
#define EXTRA_64 0x0001u
/* a number with this value means that the real number is in the extra field */
#define IN_EXTRA 0xffffffffu

/* --- numbers --------------------------------------------------------------------------------- */

/* Each of these functions reads a number at the offset AT. The caller has checked that the bytes
 * exist. */
static uint32_t get16(struct str s, uint64_t at)
{
	const unsigned char *p = (const unsigned char *)s.p + at;

	return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t get32(struct str s, uint64_t at)
{
	return get16(s, at) | get16(s, at + 2) << 16;
}

static uint64_t get64(struct str s, uint64_t at)
{
	return get32(s, at) | (uint64_t)get32(s, at + 4) << 32;
}

static bool holds(struct str s, uint64_t at, uint64_t n)
{
	return at <= s.n && n <= s.n - at;
}

static struct str slice(struct str s, uint64_t at, uint64_t n)
{
	return (struct str){ s.p + at, n };
}

/* --- the end record -------------------------------------------------------------------------- */

struct directory {
	uint64_t at, n; /* offset and length of the directory */
	uint64_t front; /* bytes before the beginning of the archive */
};

static int invalid(struct why *y)
{
	return why_set(y, "Uploaded file must be a valid .zip archive");
}

/* Sets *RET_AT to the last offset at which an end record can begin. Returns false if there is no
 * such offset. */
static bool find_end(struct str s, uint64_t *ret_at)
{
	if (s.n < END_BYTES)
		return false;
	for (uint64_t at = s.n - END_BYTES, n = 0; n <= COMMENT_MAX_BYTES; at--, n++) {
		if (get32(s, at) == END_MARK && get16(s, at + 20) <= s.n - at - END_BYTES) {
			*ret_at = at;
			return true;
		}
		if (at == 0)
			break;
	}
	return false;
}

static int find_directory(struct str s, struct directory *ret, struct why *y)
{
	uint64_t end, size, offset;

	if (!find_end(s, &end))
		return invalid(y);
	size = get32(s, end + 12);
	offset = get32(s, end + 16);
	if (end >= LOCATOR_BYTES + END_64_BYTES && get32(s, end - LOCATOR_BYTES) == LOCATOR_MARK &&
	    get32(s, end - LOCATOR_BYTES - END_64_BYTES) == END_64_MARK) {
		end -= LOCATOR_BYTES + END_64_BYTES;
		size = get64(s, end + 40);
		offset = get64(s, end + 48);
	}
	if (size > end || offset > end - size)
		return invalid(y);
	*ret = (struct directory){ end - size, size, end - size - offset };
	return 0;
}

/* --- the directory --------------------------------------------------------------------------- */

/* An entry as it stands in the directory. */
struct central {
	struct str raw_name;
	uint32_t flags, method, crc, attributes;
	uint64_t size, packed, header_at;
};

/* Replaces numbers that did not fit into 32 bits by their values in the extra field. */
static int read_extra(struct str extra, struct central *c, struct why *y)
{
	uint64_t at = 0;

	while (holds(extra, at, 4)) {
		uint32_t id = get16(extra, at), n = get16(extra, at + 2);
		uint64_t *wanted[] = { &c->size, &c->packed, &c->header_at };
		struct str field;
		uint64_t used = 0;

		if (!holds(extra, at + 4, n))
			return invalid(y);
		field = slice(extra, at + 4, n);
		at += 4 + n;
		if (id != EXTRA_64)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
			if (*wanted[i] != IN_EXTRA)
				continue;
			if (!holds(field, used, 8))
				return invalid(y);
			*wanted[i] = get64(field, used);
			used += 8;
		}
	}
	return 0;
}

/* Reads the entry at the offset *AT of the directory D, and moves *AT to the next entry. */
static int read_central(struct str d, uint64_t *at, struct central *ret, struct why *y)
{
	uint64_t name, extra, comment;

	if (!holds(d, *at, CENTRAL_BYTES) || get32(d, *at) != CENTRAL_MARK)
		return invalid(y);
	name = get16(d, *at + 28);
	extra = get16(d, *at + 30);
	comment = get16(d, *at + 32);
	if (!holds(d, *at + CENTRAL_BYTES, name + extra + comment))
		return invalid(y);
	*ret = (struct central){
		.raw_name = slice(d, *at + CENTRAL_BYTES, name),
		.flags = get16(d, *at + 8),
		.method = get16(d, *at + 10),
		.crc = get32(d, *at + 16),
		.packed = get32(d, *at + 20),
		.size = get32(d, *at + 24),
		.attributes = get32(d, *at + 38),
		.header_at = get32(d, *at + 42),
	};
	if (read_extra(slice(d, *at + CENTRAL_BYTES + name, extra), ret, y) < 0)
		return -1;
	*at += CENTRAL_BYTES + name + extra + comment;
	return 0;
}

/* --- judging --------------------------------------------------------------------------------- */

static int bad_sizes(const struct zip_entry *e, struct why *y)
{
	return why_set(y, "Archive contains invalid size metadata: %s", e->name);
}

static int judge_name(const struct central *c, struct zip_entry *e, struct why *y)
{
	bool utf8 = c->flags & FLAG_UTF8;

	if (c->raw_name.n == 0 || memchr(c->raw_name.p, 0, c->raw_name.n))
		return why_set(y, "Archive contains an unsafe empty or NUL path");
	e->name = zip_name_decode(c->raw_name, utf8);
	e->path = utf8 && !utf8_valid(c->raw_name.p, c->raw_name.n)
			  ? NULL
			  : zip_name_path(e->name, &e->is_dir);
	e->is_dir |= S_ISDIR(c->attributes >> 16);
	return e->path ? 0 : why_set(y, "Archive contains an unsafe path: %s", e->name);
}

/* Returns true if A and B have the same path, or if one is a file where the other needs a
 * directory. */
static bool collide(const struct zip_entry *a, const struct zip_entry *b)
{
	const char *rest;

	if (path_is_below(a->path, b->path, &rest))
		return !b->is_dir || !*rest;
	return !a->is_dir && path_is_below(b->path, a->path, &rest);
}

/* Refuses E if it collides with one of the Z->n entries before it. */
static int judge_place(const struct zip *z, const struct zip_entry *e, struct why *y)
{
	for (size_t i = 0; i < z->n; i++)
		if (collide(&z->entry[i], e))
			return why_set(y, "Archive contains a duplicate path: %s", e->name);
	return 0;
}

static int judge_kind(const struct central *c, struct zip_entry *e, struct why *y)
{
	mode_t mode = c->attributes >> 16;
	mode_t kind = mode & S_IFMT;

	if (kind == S_IFLNK)
		return why_set(y, "Archive contains a symbolic link: %s", e->name);
	if (kind != 0 && kind != S_IFREG && kind != S_IFDIR)
		return why_set(y, "Archive contains a non-regular entry: %s", e->name);
	e->mode = mode & 0111 ? 0755 : 0644;
	return 0;
}

/* Returns true if SIZE, the size after inflation, is too large in relation to PACKED bytes. */
static bool ratio_too_high(uint64_t size, uint64_t packed)
{
	return size > packed * ZIP_RATIO_MAX;
}

static int judge_sizes(const struct central *c, const struct zip_entry *e, struct why *y)
{
	if (e->is_dir)
		return c->size ? why_set(y, "Archive directory has unexpected content: %s", e->name)
			       : 0;
	if (c->packed > ZIP_MAX_BYTES || c->header_at > ZIP_MAX_BYTES)
		return bad_sizes(e, y);
	if (c->size > ZIP_ENTRY_MAX_BYTES)
		return why_set(y, "Archive entry exceeds the uncompressed size limit: %s", e->name);
	if (ratio_too_high(c->size, c->packed))
		return why_set(y, "Archive entry exceeds the compression ratio limit: %s", e->name);
	return 0;
}

struct sums {
	uint64_t size, packed;
};

static int judge(struct zip *z, const struct central *c, struct sums *sums, struct why *y)
{
	struct zip_entry *e = &z->entry[z->n];

	e->crc = c->crc;
	e->size = c->size;
	e->method = c->method;
	e->header_at = c->header_at;
	if (judge_name(c, e, y) < 0 || judge_place(z, e, y) < 0 || judge_kind(c, e, y) < 0 ||
	    judge_sizes(c, e, y) < 0)
		return -1;
	if (e->is_dir)
		return 0;
	sums->size += c->size;
	sums->packed += c->packed;
	if (sums->size > ZIP_TOTAL_MAX_BYTES)
		return why_set(y, "Archive exceeds the total uncompressed size limit");
	if (c->flags & FLAG_ENCRYPTED)
		return why_set(y, "Archive contains an encrypted entry: %s", e->name);
	return 0;
}

/* --- where the contents are ------------------------------------------------------------------ */

/* Finds the packed bytes of the file E. S is the archive up to its directory. */
static int find_packed(struct str s, const struct central *c, uint64_t front, struct zip_entry *e,
		       struct why *y)
{
	uint64_t at = c->header_at + front, name, begin;

	if (!holds(s, at, LOCAL_BYTES))
		return bad_sizes(e, y);
	if (get32(s, at) != LOCAL_MARK)
		return invalid(y);
	name = get16(s, at + 26);
	begin = at + LOCAL_BYTES + name + get16(s, at + 28);
	if (!holds(s, begin, c->packed))
		return bad_sizes(e, y);
	/* other readers may use the name in the header, so this name must be the same as in the
	 * directory */
	if (name != c->raw_name.n ||
	    memcmp(s.p + at + LOCAL_BYTES, c->raw_name.p, (size_t)name) != 0)
		return invalid(y);
	e->header_at = at;
	e->packed = slice(s, begin, c->packed);
	return 0;
}

static const char *end_of(const struct zip_entry *e)
{
	return e->packed.p + e->packed.n;
}

/* Refuses entries that share bytes of the archive. With such entries, a small archive could become
 * huge. */
static int judge_overlaps(const struct zip *z, struct why *y)
{
	for (size_t i = 0; i < z->n; i++)
		for (size_t k = 0; k < z->n; k++) {
			const struct zip_entry *a = &z->entry[i], *b = &z->entry[k];

			if (i != k && !a->is_dir && !b->is_dir && a->header_at <= b->header_at &&
			    end_of(a) > z->bytes.p + b->header_at)
				return bad_sizes(b, y);
		}
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int read_directory(struct zip *z, const struct directory *d, struct central *all, size_t *n,
			  struct why *y)
{
	struct str bytes = slice(z->bytes, d->at, d->n);
	uint64_t at = 0;

	while (at < d->n) {
		struct central c;

		if (read_central(bytes, &at, &c, y) < 0)
			return -1;
		if (*n == ZIP_ENTRIES_MAX)
			return why_set(y, "Archive contains too many entries (maximum %u)",
				       ZIP_ENTRIES_MAX);
		all[(*n)++] = c;
	}
	return 0;
}

static int read_all(struct zip *z, struct central *all, struct why *y)
{
	struct directory d = { 0 };
	struct sums sums = { 0 };
	struct str before;
	size_t n = 0;

	if (find_directory(z->bytes, &d, y) < 0 || read_directory(z, &d, all, &n, y) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int r = judge(z, &all[i], &sums, y);

		z->n++; /* count the entry even if it is refused, so that zip_done() frees it */
		if (r < 0)
			return -1;
	}
	/* This never happens, because judge() has refused every single entry with too high a
	 * ratio. The check is here only to state the rule for the whole archive. */
	if (ratio_too_high(sums.size, sums.packed))
		return why_set(y, "Archive exceeds the aggregate compression ratio limit");
	before = slice(z->bytes, 0, d.at);
	for (size_t i = 0; i < n; i++)
		if (!z->entry[i].is_dir &&
		    find_packed(before, &all[i], d.front, &z->entry[i], y) < 0)
			return -1;
	return judge_overlaps(z, y);
}

int zip_open(struct str bytes, struct zip *ret, struct why *y)
{
	struct central *all;
	int r;

	*ret = (struct zip){ .bytes = bytes };
	if (bytes.n == 0)
		return why_set(y, "Uploaded file is empty");
	if (bytes.n > ZIP_MAX_BYTES)
		return why_set(y, "Uploaded archive exceeds the compressed size limit (%u bytes)",
			       ZIP_MAX_BYTES);
	all = xcalloc(ZIP_ENTRIES_MAX, sizeof(*all));
	ret->entry = xcalloc(ZIP_ENTRIES_MAX, sizeof(*ret->entry));
	r = read_all(ret, all, y);
	free(all);
	if (r < 0)
		zip_done(ret);
	return r;
}

void zip_done(struct zip *z)
{
	for (size_t i = 0; i < z->n; i++) {
		free(z->entry[i].name);
		free(z->entry[i].path);
	}
	free(z->entry);
	*z = (struct zip){ 0 };
}
