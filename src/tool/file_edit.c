/* The tool `edit`: replaces a text that occurs exactly once in a file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "files/change.h"
#include "tool/parameters.h"
#include "tool/session_file.h"
#include "tool/store.h"

#define EDIT_MAX_BYTES (1u << 20) /* the largest size of the file, before and after the edit */

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
		c->hint = "Make old_string longer: include the lines before or after the text.";
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
	if (r == -EFBIG || text->n > EDIT_MAX_BYTES)
		return too_large(c, f);
	return r < 0 ? place_error(c, p, r, f) : 0;
}

/* Reads a file of the sandbox in pieces. For each piece, session_read_bytes() runs a command in the
 * sandbox that prints this piece. */
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

int file_edit(struct file_call *c, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(EDIT_MAX_BYTES + SESSION_CHUNK_BYTES);
	AUTO_BUF changed = BUF_INIT(EDIT_MAX_BYTES);
	AUTO_PLACE p = { .top = -1 };
	struct stat old;
	struct request r;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &p, f) < 0 ||
	    place_check_writable(c, &p, f) < 0)
		return -1;
	if ((p.in_session ? load_in_session(c, &p, &text, f) : load(c, &p, &text, &old, f)) < 0 ||
	    change(c, &r, (struct str){ buf_str(&text), text.n }, &changed, f) < 0)
		return -1;
	return store_content(c, &p, (struct str){ buf_str(&changed), changed.n }, STORE_REPLACE,
			     p.in_session ? NULL : &old, f);
}
