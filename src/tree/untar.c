#include "tree/untar.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "tree/tar_header.h"
#include "wire/file.h"

/* limit for the contents of one extension header; even the longest path needs only 4 KiB */
#define EXTENDED_MAX_BYTES (1u << 20)
/* so many bytes are read at once: a multiple of TAR_BLOCK_BYTES, and few enough for one FILE_DATA
 * record */
#define CHUNK_BYTES 32768u
#define IMPLIED_MODE 0755u /* for directories without an entry of their own */

struct untar {
	const struct untar_source *from;
	const struct tree_sink *to;
	struct buf out;
	/* the path of the open directories, such as "a/b/c", and the number of its components */
	struct buf at;
	unsigned depth;
	/* what extension headers say about the next entry */
	struct buf name, target;
	bool has_size;
	uint64_t size;
	struct tar_header header;
	char chunk[CHUNK_BYTES];
};

/* Reads exactly N bytes, or fewer at the end of the archive. */
static int fill(struct untar *u, void *p, size_t n, size_t *ret, struct err *e)
{
	*ret = 0;
	while (*ret < n) {
		long k = u->from->read(u->from->arg, (char *)p + *ret, n - *ret);

		if (k < 0)
			return err_sys(e, (int)-k, "read the archive");
		if (k == 0)
			break;
		*ret += (size_t)k;
	}
	return 0;
}

static int need(struct untar *u, void *p, size_t n, struct err *e)
{
	size_t got;

	if (fill(u, p, n, &got, e) < 0)
		return -1;
	return got < n ? err_set(e, ERR_INVALID, "the archive ends in the middle of an entry") : 0;
}

static int flush(struct untar *u, struct err *e)
{
	int r = buf_failed(&u->out) ? err_set(e, ERR_LIMIT, "a name in the archive is too long")
				    : u->to->write(u->to->arg, u->out.p, u->out.n, e);

	buf_clear(&u->out);
	return r;
}

/* --- numbers -------------------------------------------------------------------------------- */

/* Parses octal digits between blanks or NULs, or GNU's binary form for large numbers. */
static bool number(const char *p, size_t n, uint64_t *ret)
{
	size_t i = 0;

	*ret = 0;
	if (p[0] & 0x80) {
		for (i = 0; i < n; i++) {
			unsigned byte = (unsigned char)p[i] & (i == 0 ? 0x7f : 0xff);

			if (*ret >> 55)
				return false;
			*ret = *ret << 8 | byte;
		}
		return true;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		*ret = *ret << 3 | (unsigned)(p[i] - '0'); /* no overflow: at most 12 digits */
	return i == n || p[i] == ' ' || p[i] == '\0';
}

static bool sum_is_right(const struct tar_header *h)
{
	uint64_t stored;

	return number(h->sum, sizeof(h->sum), &stored) && stored == tar_sum(h);
}

/* --- contents ------------------------------------------------------------------------------- */

static uint64_t padded(uint64_t n)
{
	return (n + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
}

/* Reads the SIZE bytes of an entry, and the padding of its last block. Sends the SIZE bytes as DATA
 * if SEND is set. */
static int contents(struct untar *u, uint64_t size, bool send, struct err *e)
{
	uint64_t left = padded(size);

	while (left > 0) {
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		size_t used = size < n ? (size_t)size : n;

		if (need(u, u->chunk, n, e) < 0)
			return -1;
		left -= n;
		size -= used;
		if (!send || used == 0)
			continue;
		file_put_data(&u->out, u->chunk, used);
		if (flush(u, e) < 0)
			return -1;
	}
	return 0;
}

/* Reads the contents of an extension header into B. */
static int slurp(struct untar *u, uint64_t size, struct buf *b, struct err *e)
{
	char *room;

	buf_clear(b);
	if (size > EXTENDED_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "an extended header of the archive is too long");
	room = buf_room(b, (size_t)padded(size) + 1);
	if (!room)
		return err_set(e, ERR_LIMIT, "an extended header of the archive is too long");
	if (need(u, room, (size_t)padded(size), e) < 0)
		return -1;
	b->n += (size_t)size;
	b->p[b->n] = '\0';
	return 0;
}

/* Applies one "LENGTH KEY=VALUE\n" record of a pax header. Returns false if cordon cannot obey the
 * record. */
static bool apply_record(struct untar *u, struct str key, struct str value)
{
	if (str_eq(key, "size"))
		return u->has_size = parse_u64_str(value, 0, INT64_MAX, &u->size) == 0;
	if (str_eq(key, "path") || str_eq(key, "linkpath")) {
		struct buf *b = str_eq(key, "path") ? &u->name : &u->target;

		buf_clear(b);
		buf_add(b, value.p, value.n);
		return value.n > 0 && !memchr(value.p, '\0', value.n) && !buf_failed(b);
	}
	/* refuse sparse files: the map of their holes is in records that we do not read */
	return !(key.n > 11 && memcmp(key.p, "GNU.sparse.", 11) == 0);
}

static int extended(struct untar *u, uint64_t size, struct err *e)
{
	AUTO_BUF text = BUF_INIT(EXTENDED_MAX_BYTES + 2 * TAR_BLOCK_BYTES);
	struct str rest;

	if (slurp(u, size, &text, e) < 0)
		return -1;
	rest = (struct str){ text.p, text.n };
	while (rest.n > 0) {
		const char *blank = memchr(rest.p, ' ', rest.n);
		struct str key, value;
		uint64_t n;

		if (!blank ||
		    parse_u64_str((struct str){ rest.p, (size_t)(blank - rest.p) },
				  (uint64_t)(blank - rest.p) + 3, rest.n, &n) < 0 ||
		    rest.p[n - 1] != '\n')
			return err_set(e, ERR_INVALID,
				       "an extended header of the archive is damaged");
		value = (struct str){ blank + 1, (size_t)(rest.p + n - 1 - (blank + 1)) };
		key = str_cut(&value, '=');
		if (!value.p || !apply_record(u, key, value))
			return err_set(
				e, ERR_INVALID,
				"the archive has a record '%.*s' that cordon does not understand",
				(int)(key.n < 40 ? key.n : 40), key.p);
		rest.p += n;
		rest.n -= (size_t)n;
	}
	return 0;
}

/* --- entries -------------------------------------------------------------------------------- */

static int close_to(struct untar *u, unsigned depth, struct err *e)
{
	while (u->depth > depth) {
		size_t n = u->at.n;

		while (n > 0 && u->at.p[n - 1] != '/')
			n--;
		buf_cut(&u->at, n ? n - 1 : 0);
		u->depth--;
		file_put_end(&u->out);
	}
	return flush(u, e);
}

static int open_dir(struct untar *u, unsigned mode, const char *name, struct err *e)
{
	if (u->depth + 1 >= TREE_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "the archive is deeper than %u directories",
			       TREE_DEPTH_MAX);
	file_put_dir(&u->out, mode, name);
	if (u->depth > 0)
		buf_add_char(&u->at, '/');
	buf_add_str(&u->at, name);
	u->depth++;
	return flush(u, e);
}

/* Copies PATH to OUT without empty and "." components. Returns false if a component is ".." or too
 * long, or if OUT has no room for the whole path. */
static bool normalise_path(const char *path, struct buf *out)
{
	struct str rest = str_of(path);

	buf_clear(out);
	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_eq(part, "."))
			continue;
		if (str_eq(part, "..") || part.n > FILE_NAME_MAX_BYTES)
			return false;
		if (out->n)
			buf_add_char(out, '/');
		buf_add(out, part.p, part.n);
	}
	return !buf_failed(out);
}

/* The first N bytes of PATH are the directory that holds the next entry. Sends the records that
 * close and open directories until exactly this directory is open. Returns 0 or -1. */
static int go_to(struct untar *u, const char *path, size_t n, struct err *e)
{
	unsigned shared = 0;
	size_t same = 0;
	struct str rest;

	/* count the components that PATH and the open directories share */
	for (size_t i = 0; u->depth > 0 && i <= n && i <= u->at.n; i++) {
		bool ends = (i == n || path[i] == '/') && (i == u->at.n || u->at.p[i] == '/');

		if (ends && i > 0) {
			shared++;
			same = i + 1;
		}
		if (i == n || i == u->at.n || path[i] != u->at.p[i])
			break;
	}
	if (close_to(u, shared, e) < 0)
		return -1;
	if (same >= n)
		return 0;
	rest = (struct str){ path + same, n - same };
	while (rest.p) {
		struct str part = str_cut(&rest, '/');
		AUTO_FREE char *name = xstrndup(part.p, part.n);

		if (open_dir(u, IMPLIED_MODE, name, e) < 0)
			return -1;
	}
	return 0;
}

static int leave_out(struct untar *u, enum file_record_type type, const char *path, const char *why,
		     struct err *e)
{
	AUTO_FREE char *text = xasprintf("'%s' is left out: %s", path, why);

	file_put_note(&u->out, type, text);
	return flush(u, e);
}

/* Sends the entry PATH, whose name starts at LEAF. */
static int send_entry(struct untar *u, const char *path, const char *leaf, const char *target,
		      uint64_t size, struct err *e)
{
	uint64_t mode = 0;

	if (!number(u->header.mode, sizeof(u->header.mode), &mode))
		return err_set(e, ERR_INVALID, "the archive is damaged at '%s'", path);
	mode &= 07777;
	switch (u->header.type) {
	case TAR_DIR:
		return open_dir(u, (unsigned)mode, leaf, e) < 0 ? -1 : contents(u, size, false, e);
	case TAR_LINK:
		if (!*target || strlen(target) > FILE_TARGET_MAX_BYTES)
			return err_set(e, ERR_INVALID, "the archive has a bad link '%s'", path);
		file_put_link(&u->out, leaf, target);
		return flush(u, e) < 0 ? -1 : contents(u, size, false, e);
	case '\0':
	case TAR_FILE:
	case TAR_CONTIGUOUS:
		file_put_file(&u->out, (unsigned)mode, leaf);
		if (flush(u, e) < 0 || contents(u, size, true, e) < 0)
			return -1;
		file_put_end(&u->out);
		return flush(u, e);
	case TAR_HARD_LINK:
		return leave_out(u, FILE_MISS, path, "it is another name of a file (hard link)", e);
	default:
		if (leave_out(u, FILE_NOTE, path, "it is no file, directory or link", e) < 0)
			return -1;
		return contents(u, size, false, e);
	}
}

static void field(struct buf *b, const char *p, size_t n)
{
	buf_add(b, p, strnlen(p, n));
}

static int entry(struct untar *u, uint64_t size, struct err *e)
{
	AUTO_BUF path = BUF_INIT(PATH_MAX);
	const struct tar_header *h = &u->header;
	bool given = u->name.n > 0; /* an extension header has given the name */
	const char *slash;
	size_t parent;

	if (!given && memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0]) {
		field(&u->name, h->prefix, sizeof(h->prefix));
		buf_add_char(&u->name, '/');
	}
	if (!given)
		field(&u->name, h->name, sizeof(h->name));
	if (!u->target.n)
		field(&u->target, h->target, sizeof(h->target));
	if (!normalise_path(buf_str(&u->name), &path) || strlen(buf_str(&u->target)) != u->target.n)
		return err_set(e, ERR_INVALID, "the archive has a bad name: '%s'",
			       buf_str(&u->name));
	if (path.n == 0) /* "./", the destination itself */
		return contents(u, size, false, e);
	slash = strrchr(buf_str(&path), '/');
	parent = slash ? (size_t)(slash - path.p) : 0;
	/* a directory that is open already needs no record */
	if (h->type == TAR_DIR && path.n == u->at.n && memcmp(path.p, u->at.p, path.n) == 0)
		return contents(u, size, false, e);
	if (go_to(u, buf_str(&path), parent, e) < 0)
		return -1;
	return send_entry(u, buf_str(&path), slash ? slash + 1 : buf_str(&path),
			  buf_str(&u->target), size, e);
}

static bool is_zero(const struct tar_header *h)
{
	const char *p = (const char *)h;

	for (unsigned i = 0; i < TAR_BLOCK_BYTES; i++)
		if (p[i])
			return false;
	return true;
}

/* Reads one header and what belongs to it. *RET_END is set at the end of the archive. */
static int step(struct untar *u, bool first, bool *ret_end, struct err *e)
{
	uint64_t size;
	size_t got;

	if (fill(u, &u->header, TAR_BLOCK_BYTES, &got, e) < 0)
		return -1;
	*ret_end = (got == 0 && !first) || (got == TAR_BLOCK_BYTES && is_zero(&u->header));
	if (*ret_end)
		return 0;
	if (got < TAR_BLOCK_BYTES || !sum_is_right(&u->header) ||
	    !number(u->header.size, sizeof(u->header.size), &size)) {
		err_set(e, ERR_INVALID,
			first ? "this is no tar archive" : "the archive is damaged");
		return first ? err_hint(e, "a compressed archive must be decompressed first") : -1;
	}
	switch (u->header.type) {
	case TAR_LONG_NAME:
	case TAR_LONG_TARGET: {
		struct buf *b = u->header.type == TAR_LONG_NAME ? &u->name : &u->target;

		if (slurp(u, size, b, e) < 0)
			return -1;
		buf_cut(b, strnlen(b->p, b->n)); /* the text ends in a NUL */
		return 0;
	}
	case TAR_EXTENDED:
		return extended(u, size, e);
	case TAR_GLOBAL: /* skip comments and times */
		return contents(u, size, false, e);
	}
	/* links have no contents, whatever their header says */
	if (u->header.type == TAR_LINK || u->header.type == TAR_HARD_LINK)
		size = 0;
	else if (u->has_size)
		size = u->size;
	if (size > INT64_MAX - TAR_BLOCK_BYTES)
		return err_set(e, ERR_INVALID, "the archive is damaged");
	if (entry(u, size, e) < 0)
		return -1;
	u->has_size = false;
	buf_clear(&u->name);
	buf_clear(&u->target);
	return 0;
}

static int drain(struct untar *u, struct err *e)
{
	size_t got;

	/* archivers pad the archive; if we did not read the padding, the archiver's write would
	 * fail */
	do {
		if (fill(u, u->chunk, CHUNK_BYTES, &got, e) < 0)
			return -1;
	} while (got > 0);
	return 0;
}

int untar(const struct untar_source *from, const struct tree_sink *to, struct err *e)
{
	struct untar *u = xcalloc(1, sizeof(*u));
	bool end = false;
	int r;

	u->from = from;
	u->to = to;
	buf_init(&u->out, 2 * FILE_RECORD_MAX_BYTES);
	buf_init(&u->at, PATH_MAX);
	buf_init(&u->name, EXTENDED_MAX_BYTES + 2 * TAR_BLOCK_BYTES);
	buf_init(&u->target, EXTENDED_MAX_BYTES + 2 * TAR_BLOCK_BYTES);
	file_put_dir(&u->out, IMPLIED_MODE, "");
	r = flush(u, e);
	for (bool first = true; r == 0 && !end; first = false)
		r = step(u, first, &end, e);
	if (r == 0)
		r = drain(u, e);
	if (r == 0)
		r = close_to(u, 0, e);
	if (r == 0) {
		file_put_end(&u->out);
		r = flush(u, e);
	}
	buf_done(&u->out);
	buf_done(&u->at);
	buf_done(&u->name);
	buf_done(&u->target);
	free(u);
	return r;
}
