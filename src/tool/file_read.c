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

#define LINES_DEFAULT 2000
#define LINES_MAX 10000
#define CHUNK_BYTES 65536u
#define SCAN_MAX_BYTES (256u << 20) /* text that is read in front of the first line; 0.1 s */

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
	r->byte_offset = parameters_int(&p, "byte_offset", 0, 0, INT64_MAX);
	return parameters_end(&p);
}

/* --- a directory ----------------------------------------------------------------------------- */

static int read_directory(struct file_call *c, const struct place *p, int fd, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(2 * FILE_RESULT_MAX_BYTES);
	struct listing l;
	bool whole;
	int r = listing_read(fd, &l);

	if (r < 0)
		return place_error(c, p, r, f);
	whole = listing_print(&l, FILE_RESULT_MAX_BYTES, &text);
	json_begin_object(c->w);
	json_key_bool(c->w, "ok", true);
	json_key(c->w, "content");
	json_strn(c->w, buf_str(&text), text.n);
	json_key_bool(c->w, "is_directory", true);
	json_key_int(c->w, "total", (int64_t)l.total);
	json_key_bool(c->w, "truncated", !whole || l.too_many);
	json_key_str(c->w, "truncated_by", !whole ? "bytes" : l.too_many ? "lines" : NULL);
	json_end_object(c->w);
	listing_done(&l);
	return 0;
}

/* --- bytes ----------------------------------------------------------------------------------- */

/* Reads up to N bytes from an offset on, also if the file grows or shrinks meanwhile. */
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

static int read_base64(struct file_call *c, const struct place *p, int fd, const struct request *r,
		       struct fault *f)
{
	AUTO_BUF part = BUF_INIT(FILE_RESULT_MAX_BYTES);
	AUTO_BUF text = BUF_INIT(2 * FILE_RESULT_MAX_BYTES);
	struct stat st;
	int64_t end;
	int k = fstat(fd, &st) < 0 ? -errno : 0;

	if (k == 0 && r->byte_offset < st.st_size)
		k = read_part(fd, r->byte_offset, (size_t)r->max_bytes, &part);
	if (k < 0)
		return place_error(c, p, k, f);
	base64_encode(&text, buf_str(&part), part.n);
	end = r->byte_offset + (int64_t)part.n;
	json_begin_object(c->w);
	json_key_bool(c->w, "ok", true);
	json_key(c->w, "content");
	json_strn(c->w, buf_str(&text), text.n);
	json_key_str(c->w, "encoding", "base64");
	json_key_int(c->w, "byte_offset", r->byte_offset);
	json_key_int(c->w, "length", (int64_t)part.n);
	json_key_int(c->w, "size_bytes", st.st_size);
	json_key_bool(c->w, "has_more", end < st.st_size);
	if (end < st.st_size)
		json_key_int(c->w, "next_byte_offset", end);
	else
		json_key_null(c->w, "next_byte_offset");
	json_key_int(c->w, "max_bytes", r->max_bytes);
	json_end_object(c->w);
	return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Reads until the window is full. Returns 0, -EFBIG if its first line is too far from the beginning, or -errno. */
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

int file_read(struct file_call *c, struct fault *f)
{
	AUTO_PLACE p = { .top = -1 };
	AUTO_FD fd = -1;
	struct request r;
	mode_t kind;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &p, f) < 0)
		return -1;
	fd = beneath_open_kind(p.top, p.path, &kind);
	if (fd < 0)
		return place_error(c, &p, fd, f);
	if (kind == S_IFDIR)
		return read_directory(c, &p, fd_take(&fd), f);
	return r.base64 ? read_base64(c, &p, fd, &r, f) : read_text(c, &p, fd, &r, f);
}
