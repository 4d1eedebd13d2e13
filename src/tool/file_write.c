/* The tool `write`: makes a file, replaces its content or adds to it. */
#include <errno.h>
#include <fcntl.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/cleanup.h"
#include "files/save.h"
#include "tool/parameters.h"
#include "tool/place.h"
#include "tool/session_file.h"

struct request {
	struct str path, content;
	bool base64, append;
};

static int read_request(const struct file_call *c, struct request *r, struct fault *f)
{
	struct parameters p;

	parameters_init(&p, c->parameters, f);
	r->path = parameters_name(&p, "path", NULL);
	r->content = parameters_text(&p, "content", NULL);
	r->base64 = parameters_second(&p, "encoding", "text", "base64");
	r->append = parameters_second(&p, "mode", "overwrite", "append");
	return parameters_end(&p);
}

static int decode(struct file_call *c, struct request *r, struct buf *bytes, struct fault *f)
{
	if (!r->base64)
		return 0;
	if (base64_decode(bytes, r->content.p, r->content.n) < 0) {
		c->hint = "Send padded base64 without line breaks.";
		return fault_set(f, FAULT_VALIDATION,
				 "invalid base64 content: it is not padded base64 (RFC 4648)");
	}
	r->content = (struct str){ buf_str(bytes), bytes->n };
	return 0;
}

static int write_place(struct file_call *c, const struct place *p, struct str content, bool append,
		       struct fault *f)
{
	const char *leaf = p->in_session ? "" : path_leaf(p->path);
	AUTO_FREE char *parent = NULL;
	AUTO_FD dir = -1;
	int r;

	if (p->in_session)
		return session_write(c, p, content, append, f);
	if (!*leaf)
		return place_error(c, p, -EISDIR, f);
	parent = xstrndup(p->path, (size_t)(leaf - p->path));
	dir = beneath_make_dirs_unlinked(p->top, parent);
	if (dir == -ENOTDIR) {
		c->hint = "A part of the path is a file.";
		return fault_about(f, FAULT_VALIDATION,
				   "Path is not a directory: ", str_of(p->shown), "");
	}
	if (dir < 0)
		return place_error(c, p, dir, f);
	r = append ? save_append(dir, leaf, content) : save_replace(dir, leaf, content, NULL);
	return r < 0 ? place_error(c, p, r, f) : 0;
}

int file_write(struct file_call *c, struct fault *f)
{
	AUTO_BUF bytes = BUF_INIT(JSON_TEXT_MAX);
	AUTO_PLACE p = { .top = -1 };
	struct request r;

	if (read_request(c, &r, f) < 0 || decode(c, &r, &bytes, f) < 0 ||
	    place_find(c, r.path, &p, f) < 0 || place_check_writable(c, &p, f) < 0 ||
	    write_place(c, &p, r.content, r.append, f) < 0)
		return -1;
	json_begin_object(c->w);
	json_key_bool(c->w, "ok", true);
	json_key_str(c->w, "path", p.shown);
	json_end_object(c->w);
	return 0;
}
