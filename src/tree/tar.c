#include "tree/tar.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tree/build.h"
#include "tree/tar_header.h"

#define CHUNK_BYTES 32768u
#define OCTAL_SIZE_MAX 077777777777ull /* the largest size that fits a header */
#define TRAILER_BLOCKS 2u

void tar_init(struct tar *t)
{
	t->time_s = (uint64_t)time(NULL);
	buf_init(&t->in, FILE_RECORD_MAX_BYTES + FILE_RECORD_HEADER_BYTES + FRAME_DATA_MAX_BYTES);
	buf_init(&t->at, PATH_MAX);
}

void tar_done(struct tar *t)
{
	buf_done(&t->in);
	buf_done(&t->at);
}

static int send(struct tar *t, const void *p, size_t n, struct err *e)
{
	return t->to->write(t->to->arg, p, n, e);
}

static int pad(struct tar *t, uint64_t n, struct err *e)
{
	static const char zeros[TAR_BLOCK_BYTES];
	size_t over = (size_t)(n % TAR_BLOCK_BYTES);

	return over ? send(t, zeros, TAR_BLOCK_BYTES - over, e) : 0;
}

/* Writes V with N - 1 digits and a NUL. Higher digits are lost. */
static void octal(char *field, size_t n, uint64_t v)
{
	field[--n] = '\0';
	for (; n > 0; v >>= 3)
		field[--n] = (char)('0' + (v & 7));
}

/* Copies as much of TEXT as fits into a field of N bytes, which needs no terminator. Returns true
 * if all of TEXT fits. */
static bool put_text(char *field, size_t n, const char *text)
{
	size_t k = strlen(text);

	memcpy(field, text, k < n ? k : n);
	return k <= n;
}

static int send_header(struct tar *t, const char *path, const char *target, char type,
		       unsigned mode, uint64_t size, struct err *e)
{
	struct tar_header h = { .type = type, .magic = "ustar", .version = { '0', '0' } };

	put_text(h.name, sizeof(h.name), path);
	put_text(h.target, sizeof(h.target), target);
	octal(h.mode, sizeof(h.mode), mode);
	octal(h.uid, sizeof(h.uid), getuid() & 07777777);
	octal(h.gid, sizeof(h.gid), getgid() & 07777777);
	octal(h.size, sizeof(h.size), size <= OCTAL_SIZE_MAX ? size : 0);
	octal(h.mtime, sizeof(h.mtime), t->time_s & OCTAL_SIZE_MAX);
	octal(h.sum, sizeof(h.sum) - 1, tar_sum(&h));
	h.sum[sizeof(h.sum) - 1] = ' ';
	return send(t, &h, sizeof(h), e);
}

/* Adds "LENGTH KEY=VALUE\n". LENGTH is the length of all of this text, also of its own digits. */
static void add_record(struct buf *b, const char *key, const char *value)
{
	size_t n = strlen(key) + strlen(value) + 3, digits = 1;

	while (n + digits >= (digits == 1 ? 10 : digits == 2 ? 100 : digits == 3 ? 1000 : 10000))
		digits++;
	buf_addf(b, "%zu %s=%s\n", n + digits, key, value);
}

/* Sends the header of one entry. If a path, a target or a size does not fit into this header, first
 * sends an extended header. */
static int send_entry(struct tar *t, const char *target, char type, uint64_t size, struct err *e)
{
	AUTO_BUF more = BUF_INIT(4 * PATH_MAX);
	const char *path = buf_str(&t->at);
	char digits[24];

	if (strlen(path) > sizeof(((struct tar_header *)0)->name))
		add_record(&more, "path", path);
	if (strlen(target) > sizeof(((struct tar_header *)0)->target))
		add_record(&more, "linkpath", target);
	if (size > OCTAL_SIZE_MAX) {
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
		add_record(&more, "size", digits);
	}
	if (buf_failed(&more) || buf_failed(&t->at))
		return err_set(e, ERR_LIMIT, "a path is too long for an archive");
	if (more.n && (send_header(t, "././@PaxHeader", "", TAR_EXTENDED, 0644, more.n, e) < 0 ||
		       send(t, more.p, more.n, e) < 0 || pad(t, more.n, e) < 0))
		return -1;
	return send_header(t, path, target, type, t->mode, size, e);
}

static int bad_stream(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the sandbox's files make no sense");
}

static void leave(struct tar *t)
{
	size_t n = t->at.n;

	while (n > 0 && t->at.p[n - 1] != '/')
		n--;
	buf_cut(&t->at, n ? n - 1 : 0);
}

/* Begins an entry: takes the mode of the record, without set-id bits, and adds the record's name to
 * the path. If T->name is not NULL, it replaces the name of the outermost record. */
static int enter(struct tar *t, struct err *e)
{
	const char *name = !t->placed && t->name ? t->name : t->record.name;

	if (t->in_file || (t->placed && t->depth == 0) || (t->placed && !*name) ||
	    (!*name && t->record.type != FILE_DIR) || t->depth >= TREE_DEPTH_MAX)
		return bad_stream(e);
	t->placed = true;
	t->mode = t->record.mode & 01777;
	if (t->record.mode & 06000)
		t->note(t->arg, FILE_NOTE, "a file lost its set-user-id or set-group-id bit");
	if (t->at.n)
		buf_add_char(&t->at, '/');
	buf_add_str(&t->at, name);
	return 0;
}

static int on_dir(struct tar *t, struct err *e)
{
	int r;

	if (enter(t, e) < 0)
		return -1;
	t->depth++;
	if (t->at.n == 0) /* only the contents were asked for */
		return 0;
	buf_add_char(&t->at, '/');
	r = send_entry(t, "", TAR_DIR, 0, e);
	buf_cut(&t->at, t->at.n - 1);
	return r;
}

static int on_file(struct tar *t, struct err *e)
{
	if (enter(t, e) < 0)
		return -1;
	t->in_file = true;
	t->size = 0;
	t->disk_limit = (struct disk_limit){ 0 }; /* the scratch file begins anew */
	if (ftruncate(t->scratch, 0) < 0 || lseek(t->scratch, 0, SEEK_SET) < 0)
		return err_sys(e, errno, "use a scratch file");
	return 0;
}

static void leave_link_out(const struct tar *t)
{
	AUTO_BUF why = BUF_INIT(4 * PATH_MAX);

	buf_addf(&why, "'%s' is not copied: it is a link to '%s', outside the copied tree",
		 buf_str(&t->at), t->record.target);
	/* at depth 0 this link is all that was asked for, so the copy has failed */
	t->note(t->arg, t->depth == 0 ? FILE_MISS : FILE_NOTE, buf_str(&why));
}

static int on_link(struct tar *t, struct err *e)
{
	AUTO_BUF target = BUF_INIT(2 * PATH_MAX); /* room for "../" per directory up to the top */
	int r = enter(t, e);

	t->mode = 0777;
	if (r == 0 && t->depth > 0 &&
	    tree_confine_link(t->record.target, t->source, t->depth - 1, &target))
		r = send_entry(t, buf_str(&target), TAR_LINK, 0, e);
	else if (r == 0)
		leave_link_out(t);
	leave(t);
	return r;
}

static int on_data(struct tar *t, struct err *e)
{
	bool hole = t->record.type == FILE_HOLE;
	uint64_t n = hole ? t->record.size : t->record.data.n;
	int r;

	if (!t->in_file || n > INT64_MAX - t->size)
		return bad_stream(e);
	t->size += n;
	if (hole)
		return ftruncate(t->scratch, (off_t)t->size) < 0 ||
				       lseek(t->scratch, (off_t)t->size, SEEK_SET) < 0
			       ? err_sys(e, errno, "use a scratch file")
			       : 0;
	if (disk_limit_take(&t->disk_limit, t->scratch, t->record.data.n, 0, e) < 0)
		return -1;
	r = io_write_all(t->scratch, t->record.data.p, t->record.data.n);
	return r < 0 ? err_sys(e, -r, "use a scratch file") : 0;
}

/* Sends the file that the scratch file holds. */
static int send_file(struct tar *t, struct err *e)
{
	char chunk[CHUNK_BYTES];
	uint64_t left = t->size;

	if (send_entry(t, "", TAR_FILE, t->size, e) < 0)
		return -1;
	if (lseek(t->scratch, 0, SEEK_SET) < 0)
		return err_sys(e, errno, "use a scratch file");
	while (left > 0) {
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		int r = io_read_exact(t->scratch, chunk, n);

		if (r < 0)
			return err_sys(e, -r, "use a scratch file");
		if (send(t, chunk, n, e) < 0)
			return -1;
		left -= n;
	}
	return pad(t, t->size, e);
}

static int on_end(struct tar *t, struct err *e)
{
	int r = 0;

	if (t->in_file)
		r = send_file(t, e);
	else if (t->depth == 0)
		return bad_stream(e);
	else
		t->depth--;
	t->in_file = false;
	leave(t);
	return r;
}

static int on_record(struct tar *t, struct err *e)
{
	static const char zeros[TRAILER_BLOCKS * TAR_BLOCK_BYTES];

	if (t->ended)
		return bad_stream(e);
	switch (t->record.type) {
	case FILE_DIR:
		return on_dir(t, e);
	case FILE_FILE:
		return on_file(t, e);
	case FILE_LINK:
		return on_link(t, e);
	case FILE_DATA:
	case FILE_HOLE:
		return on_data(t, e);
	case FILE_END:
		return on_end(t, e);
	case FILE_NOTE:
	case FILE_MISS:
		t->note(t->arg, t->record.type, t->record.text);
		return 0;
	case FILE_FAIL:
		return err_set(e, (enum err_code)t->record.code, "%s", t->record.text);
	case FILE_DONE:
		t->ended = true;
		return t->depth > 0 || t->in_file ? bad_stream(e)
						  : send(t, zeros, sizeof(zeros), e);
	case FILE_SHARED: /* we did not ask for hard links */
	case FILE_SAME:
		break;
	}
	return bad_stream(e);
}

int tar_feed(struct tar *t, const void *p, size_t n, struct err *e)
{
	struct str in;
	int r;

	buf_add(&t->in, p, n);
	if (buf_failed(&t->in))
		return bad_stream(e);
	in = (struct str){ t->in.p, t->in.n };
	while ((r = file_record_next(&in, &t->record)) > 0)
		if (on_record(t, e) < 0)
			return -1;
	if (r < 0)
		return bad_stream(e);
	buf_drop(&t->in, t->in.n - in.n);
	return 0;
}
