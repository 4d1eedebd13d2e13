/* The tool `edit`: replaces a text that occurs exactly once in a file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "files/change.h"
#include "files/save.h"
#include "tool/parameters.h"
#include "tool/place.h"
#include "tool/session_file.h"

#define EDIT_MAX_BYTES (1u << 20) /* size of the file, before and after the edit */

struct request {
	struct str path, old_string, new_string;
};

static int read_request(const struct file_call *c, struct request *r, struct fault *f)
{
	struct parameters p;

	parameters_init(&p, c->parameters, f);
	r->path = parameters_name(&p, "path", NULL);
	r->old_string = parameters_text(&p, "old_string", NULL);
	r->new_string = parameters_text(&p, "new_string", NULL);
	if (parameters_end(&p) < 0)
		return -1;
	return r->old_string.n ? 0 : fault_set(f, FAULT_VALIDATION, "old_string must not be empty");
}

static int too_large(struct file_call *c, struct fault *f)
{
	c->hint = "Use the tool exec, for example with sed.";
	return fault_set(f, FAULT_VALIDATION, "File exceeds the %u-byte edit limit.",
			 EDIT_MAX_BYTES);
}

static int change(struct file_call *c, const struct request *r, struct str text, struct buf *out,
		  struct fault *f)
{
	size_t n = change_count(text, r->old_string);

	if (n == 0) {
		c->hint = "Read the file and copy the text exactly, with its white space.";
		return fault_set(f, FAULT_VALIDATION, "old_string not found in file.");
	}
	if (n > 1) {
		c->hint = "Add the lines before or after the text to old_string.";
		return fault_set(f, FAULT_VALIDATION,
				 "old_string matches %zu locations; provide a more unique string.",
				 n);
	}
	change_apply(text, r->old_string, r->new_string, out);
	return buf_failed(out) ? too_large(c, f) : 0;
}

/* Reads the file, and fills *RET by fstat(). */
static int load(struct file_call *c, const struct place *p, struct buf *text, struct stat *ret,
		struct fault *f)
{
	mode_t kind = 0;
	AUTO_FD fd = beneath_open_kind(p->top, p->path, &kind);
	int r = fd;

	if (fd >= 0 && kind == S_IFDIR)
		r = -EISDIR;
	if (r >= 0 && fstat(fd, ret) < 0)
		r = -errno;
	if (r >= 0)
		r = io_read_to_end(fd, text);
	if (r == -EFBIG)
		return too_large(c, f);
	return r < 0 ? place_error(c, p, r, f) : 0;
}

static int store(struct file_call *c, const struct place *p, const struct buf *text,
		 const struct stat *old, struct fault *f)
{
	const char *leaf = path_leaf(p->path);
	AUTO_FREE char *parent = xstrndup(p->path, (size_t)(leaf - p->path));
	AUTO_FD dir = beneath_open_unlinked(p->top, parent, O_RDONLY | O_DIRECTORY);
	int r = dir;

	if (dir >= 0)
		r = save_replace(dir, leaf, (struct str){ buf_str(text), text->n }, old);
	return r < 0 ? place_error(c, p, r, f) : 0;
}

/* Reads a file of the sandbox. Each command prints one piece of it. */
static int load_in_session(struct file_call *c, const struct place *p, struct buf *text,
			   struct fault *f)
{
	int64_t size = 0;

	do {
		size_t before = text->n;

		if (session_read_bytes(c, p, (int64_t)before, SESSION_CHUNK_BYTES, &size, text, f) <
		    0)
			return -1;
		if (size > EDIT_MAX_BYTES)
			return too_large(c, f);
		if (text->n == before)
			break; /* the file has become shorter meanwhile */
	} while ((int64_t)text->n < size);
	return text->n > EDIT_MAX_BYTES ? too_large(c, f) : 0;
}

static int edit_in_session(struct file_call *c, const struct place *p, const struct request *r,
			   struct fault *f)
{
	AUTO_BUF text = BUF_INIT(EDIT_MAX_BYTES + SESSION_CHUNK_BYTES);
	AUTO_BUF changed = BUF_INIT(EDIT_MAX_BYTES);

	if (load_in_session(c, p, &text, f) < 0 ||
	    change(c, r, (struct str){ buf_str(&text), text.n }, &changed, f) < 0)
		return -1;
	return session_write(c, p, (struct str){ buf_str(&changed), changed.n }, false, f);
}

static int edit_directly(struct file_call *c, const struct place *p, const struct request *r,
			 struct fault *f)
{
	AUTO_BUF text = BUF_INIT(EDIT_MAX_BYTES), changed = BUF_INIT(EDIT_MAX_BYTES);
	struct stat st;

	if (load(c, p, &text, &st, f) < 0 ||
	    change(c, r, (struct str){ buf_str(&text), text.n }, &changed, f) < 0)
		return -1;
	return store(c, p, &changed, &st, f);
}

int file_edit(struct file_call *c, struct fault *f)
{
	AUTO_PLACE p = { .top = -1 };
	struct request r;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &p, f) < 0 ||
	    place_check_writable(c, &p, f) < 0)
		return -1;
	if ((p.in_session ? edit_in_session(c, &p, &r, f) : edit_directly(c, &p, &r, f)) < 0)
		return -1;
	json_begin_object(c->w);
	json_key_bool(c->w, "ok", true);
	json_key_str(c->w, "path", p.shown);
	json_end_object(c->w);
	return 0;
}
