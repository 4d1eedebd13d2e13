#include "tool/store.h"

#include <errno.h>
#include <fcntl.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "files/save.h"
#include "tool/session_file.h"

/* Opens the directory that holds the file of P. If MAKE is true, first makes what is missing. */
static int open_parent(const struct place *p, const char *leaf, bool make)
{
	AUTO_FREE char *parent = xstrndup(p->path, (size_t)(leaf - p->path));

	return make ? beneath_make_dirs_unlinked(p->top, parent)
		    : beneath_open_unlinked(p->top, parent, O_RDONLY | O_DIRECTORY);
}

static int save(struct file_call *c, const struct place *p, struct str content,
		enum store_mode mode, const struct stat *old, struct fault *f)
{
	const char *leaf = path_leaf(p->path);
	AUTO_FD dir = -1;
	int r;

	if (!*leaf)
		return place_error(c, p, -EISDIR, f);
	dir = open_parent(p, leaf, !old);
	if (dir == -ENOTDIR) {
		c->hint = "A part of the path is a file.";
		return fault_about(f, FAULT_VALIDATION,
				   "Path is not a directory: ", str_of(p->shown), "");
	}
	if (dir < 0)
		return place_error(c, p, dir, f);
	r = mode == STORE_APPEND ? save_append(dir, leaf, content)
				 : save_replace(dir, leaf, content, old);
	return r < 0 ? place_error(c, p, r, f) : 0;
}

int store_content(struct file_call *c, const struct place *p, struct str content,
		  enum store_mode mode, const struct stat *old, struct fault *f)
{
	if ((p->in_session ? session_write(c, p, content, mode == STORE_APPEND, f)
			   : save(c, p, content, mode, old, f)) < 0)
		return -1;
	json_begin_object(c->w);
	json_key_bool(c->w, "ok", true);
	json_key_str(c->w, "path", p->shown);
	json_end_object(c->w);
	return 0;
}
