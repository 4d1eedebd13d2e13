/* The tool `read`: lines of a text, bytes of any file as base64, or the names in a directory. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/cleanup.h"
#include "files/listing.h"
#include "files/window.h"
#include "tool/parameters.h"
#include "tool/place.h"
#include "tool/session_file.h"
#include "tool/skills.h"

#define LINES_DEFAULT 2000
#define LINES_MAX 10000
#define PLACE_UNKNOWN UINT64_MAX /* the offset of a line is not known */
#define CHUNK_BYTES 65536u
#define SCAN_MAX_BYTES (256u << 20) /* skip at most this much to find the first line (0.1 s) */

struct request {
	struct str path;
	int64_t offset, limit, max_bytes, byte_offset;
	bool base64;
};

static int read_request(const struct file_call *c, struct request *r, struct fault *f)
{
	struct parameters p;

	parameters_init(&p, c->parameters, f);
	r->path = parameters_name(&p, "path", NULL);
	r->offset = parameters_int(&p, "offset", 1, 1, INT64_MAX);
	r->limit = parameters_int(&p, "limit", LINES_DEFAULT, 1, LINES_MAX);
	r->max_bytes =
		parameters_int(&p, "max_bytes", FILE_RESULT_MAX_BYTES, 1, FILE_RESULT_MAX_BYTES);
	r->base64 = parameters_second(&p, "encoding", "text", "base64");
	r->byte_offset = parameters_int(&p, "byte_offset", 0, 0, INT64_MAX / 2);
	return parameters_end(&p);
}

/* --- a directory ----------------------------------------------------------------------------- */

static void write_names(struct json_writer *w, struct str names, size_t total, const char *limit)
{
	json_begin_object(w);
	json_key_bool(w, "ok", true);
	json_key(w, "content");
	json_strn(w, names.p, names.n);
	json_key_bool(w, "is_directory", true);
	json_key_int(w, "total", (int64_t)total);
	json_key_bool(w, "truncated", limit != NULL);
	json_key_str(w, "truncated_by", limit);
	json_end_object(w);
}

static int read_directory(struct file_call *c, const struct place *p, int fd, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(2 * FILE_RESULT_MAX_BYTES);
	struct listing l;
	bool whole;
	int r = listing_read(fd, &l);

	if (r < 0)
		return place_error(c, p, r, f);
	whole = listing_print(&l, FILE_RESULT_MAX_BYTES, &text);
	write_names(c->w, (struct str){ buf_str(&text), text.n }, l.total,
		    !whole       ? "bytes"
		    : l.too_many ? "lines"
				 : NULL);
	listing_done(&l);
	return 0;
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Reads up to N bytes from OFFSET on. The file may grow or shrink meanwhile. */
static int read_part(int fd, int64_t offset, size_t n, struct buf *out)
{
	char *p = buf_room(out, n);

	if (!p)
		return -ENOMEM;
	while (out->n < n) {
		ssize_t k = pread(fd, p + out->n, n - out->n, offset + (int64_t)out->n);

		if (k < 0 && errno != EINTR)
			return -errno;
		if (k == 0)
			break;
		out->n += k > 0 ? (size_t)k : 0;
	}
	return 0;
}

static void write_bytes(struct json_writer *w, const struct request *r, const struct buf *part,
			int64_t size)
{
	AUTO_BUF text = BUF_INIT(2 * FILE_RESULT_MAX_BYTES);
	int64_t end = r->byte_offset + (int64_t)part->n;

	base64_encode(&text, buf_str(part), part->n);
	json_begin_object(w);
	json_key_bool(w, "ok", true);
	json_key(w, "content");
	json_strn(w, buf_str(&text), text.n);
	json_key_str(w, "encoding", "base64");
	json_key_int(w, "byte_offset", r->byte_offset);
	json_key_int(w, "length", (int64_t)part->n);
	json_key_int(w, "size_bytes", size);
	json_key_bool(w, "has_more", end < size);
	if (end < size)
		json_key_int(w, "next_byte_offset", end);
	else
		json_key_null(w, "next_byte_offset");
	json_key_int(w, "max_bytes", r->max_bytes);
	json_end_object(w);
}

static int read_base64(struct file_call *c, const struct place *p, int fd, const struct request *r,
		       struct fault *f)
{
	AUTO_BUF part = BUF_INIT(FILE_RESULT_MAX_BYTES);
	struct stat st;
	int k = fstat(fd, &st) < 0 ? -errno : 0;

	if (k == 0 && r->byte_offset < st.st_size)
		k = read_part(fd, r->byte_offset, (size_t)r->max_bytes, &part);
	if (k < 0)
		return place_error(c, p, k, f);
	write_bytes(c->w, r, &part, st.st_size);
	return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Reads until the window is full or the file ends. Returns 0, -EFBIG if the first line of the
 * window lies beyond SCAN_MAX_BYTES, or -errno. */
static int fill(struct window *w, int fd)
{
	char chunk[CHUNK_BYTES];
	ssize_t n;

	do {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (w->taken == 0 && w->at > SCAN_MAX_BYTES)
			return -EFBIG;
	} while (n != 0 && window_add(w, chunk, n > 0 ? (size_t)n : 0));
	window_end(w);
	return 0;
}

static void write_content(const struct window *w, struct json_writer *to)
{
	AUTO_BUF hint = BUF_INIT(512);

	json_key(to, "content");
	if (!w->too_long) {
		json_strn(to, buf_str(&w->content), w->content.n);
		return;
	}
	if (w->at == PLACE_UNKNOWN)
		buf_addf(&hint,
			 "[Line %llu is longer than max_bytes (%zu bytes). Use exec with cut or "
			 "sed.]",
			 (unsigned long long)w->line, w->max_bytes);
	else
		buf_addf(&hint,
			 "[Line %llu is longer than max_bytes (%zu bytes). Read it with encoding "
			 "\"base64\" and "
			 "byte_offset %llu, or use exec with cut or sed.]",
			 (unsigned long long)w->line, w->max_bytes, (unsigned long long)w->at);
	json_str(to, buf_str(&hint));
}

static void write_window(const struct window *w, struct json_writer *to)
{
	static const char *const limits[] = { NULL, "lines", "bytes" };
	uint64_t end = w->first_line + w->taken - 1 + w->too_long;

	json_begin_object(to);
	json_key_bool(to, "ok", true);
	write_content(w, to);
	json_key_bool(to, "truncated", w->limit != WINDOW_WHOLE);
	json_key_str(to, "truncated_by", limits[w->limit]);
	json_key_int(to, "start_line", (int64_t)w->first_line);
	json_key_int(to, "end_line", (int64_t)end);
	if (w->limit != WINDOW_WHOLE)
		json_key_int(to, "next_offset", (int64_t)end + 1);
	else
		json_key_null(to, "next_offset");
	json_key_int(to, "max_lines", (int64_t)w->max_lines);
	json_key_int(to, "max_bytes", (int64_t)w->max_bytes);
	json_end_object(to);
}

static int read_text(struct file_call *c, const struct place *p, int fd, const struct request *r,
		     struct fault *f)
{
	struct window w;
	int k;

	window_init(&w, (uint64_t)r->offset, (uint64_t)r->limit, (size_t)r->max_bytes);
	k = fill(&w, fd);
	if (k == 0)
		write_window(&w, c->w);
	window_done(&w);
	if (k == -EFBIG) {
		c->hint = "Use encoding \"base64\" with byte_offset, or exec with sed.";
		return fault_set(f, FAULT_VALIDATION,
				 "Line %lld is more than %u bytes from the beginning of the file.",
				 (long long)r->offset, SCAN_MAX_BYTES);
	}
	return k < 0 ? place_error(c, p, k, f) : 0;
}

/* --- in the sandbox -------------------------------------------------------------------------- */

/* Writes the names that a shell listed, up to MAX bytes. A name that does not fit is left out. */
static void write_listed(struct json_writer *w, struct str text, size_t max)
{
	const char *limit = text.n > max ? "bytes" : NULL;
	size_t total = 0;

	if (limit)
		text.n = max;
	while (limit && text.n && text.p[text.n - 1] != '\n') /* drop a name that is cut */
		text.n--;
	for (size_t i = 0; i < text.n; i++)
		total += text.p[i] == '\n';
	if (text.n)
		text.n--; /* drop the last newline */
	write_names(w, text, total, limit);
}

static int read_lines_in_session(struct file_call *c, const struct place *p,
				 const struct request *r, struct fault *f)
{
	AUTO_BUF part = BUF_INIT(SESSION_READ_MAX_BYTES + 1);
	size_t max = (size_t)r->max_bytes;
	struct window w;
	bool directory;

	/* ask for one line and one byte more than are shown, to learn whether the file has more */
	if (session_read_lines(c, p, r->offset, r->limit + 1, max + 1, &directory, &part, f) < 0)
		return -1;
	if (directory) {
		write_listed(c->w, (struct str){ buf_str(&part), part.n }, max);
		return 0;
	}
	window_init(&w, 1, (uint64_t)r->limit, max);
	if (window_add(&w, buf_str(&part), part.n))
		window_end(&w);
	w.first_line = (uint64_t)r->offset;
	w.line += w.first_line - 1;
	w.at = PLACE_UNKNOWN;
	write_window(&w, c->w);
	window_done(&w);
	return 0;
}

static int read_in_session(struct file_call *c, const struct place *p, struct request *r,
			   struct fault *f)
{
	AUTO_BUF part = BUF_INIT(SESSION_READ_MAX_BYTES);
	int64_t size;

	if (r->max_bytes > SESSION_READ_MAX_BYTES)
		r->max_bytes = SESSION_READ_MAX_BYTES;
	if (!r->base64)
		return read_lines_in_session(c, p, r, f);
	if (session_read_bytes(c, p, r->byte_offset, (size_t)r->max_bytes, &size, &part, f) < 0)
		return -1;
	write_bytes(c->w, r, &part, size);
	return 0;
}

static void list_skills(struct file_call *c)
{
	AUTO_BUF text = BUF_INIT(BOX_MOUNTS_MAX * (BOX_SKILL_NAME_MAX * 4 + 1));
	struct skills_list all;

	skills_list(c->spec, &all);
	for (size_t i = 0; i < all.n; i++)
		buf_addf(&text, "%s%s", i ? "\n" : "", all.name[i]);
	if (text.n > FILE_RESULT_MAX_BYTES)
		/* the JSON writer replaces a character that is cut */
		buf_cut(&text, FILE_RESULT_MAX_BYTES);
	write_names(c->w, (struct str){ buf_str(&text), text.n }, all.n,
		    text.n == FILE_RESULT_MAX_BYTES ? "bytes" : NULL);
	skills_list_done(&all);
}

int file_read(struct file_call *c, struct fault *f)
{
	AUTO_PLACE p = { .top = -1 };
	AUTO_FD fd = -1;
	struct request r;
	mode_t kind;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &p, f) < 0)
		return -1;
	if (p.all_skills) {
		list_skills(c);
		return 0;
	}
	if (p.in_session)
		return read_in_session(c, &p, &r, f);
	fd = beneath_open_kind(p.top, p.path, &kind);
	if (fd < 0)
		return place_error(c, &p, fd, f);
	if (kind == S_IFDIR)
		return read_directory(c, &p, fd_take(&fd), f);
	return r.base64 ? read_base64(c, &p, fd, &r, f) : read_text(c, &p, fd, &r, f);
}
