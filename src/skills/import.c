/*
 * The two halves of `cordon copy` do the work: tree_walk_fd() reads the source and follows no link,
 * tree_build writes below the store. The stream between them goes through memory, one record at a
 * time.
 */
#include "skills/import.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/beneath.h"
#include "tree/build.h"
#include "tree/walk.h"

struct copying {
	struct tree_build *build;
	uint64_t bytes;
	struct err missed; /* the error for the first file that could not be read */
};

static void on_note(void *arg, enum file_record_type type, const char *text)
{
	struct copying *c = arg;

	if (type == FILE_MISS && c->missed.code == ERR_NONE)
		err_set(&c->missed, ERR_DENIED, "%s", text);
	else
		log_line(LOG_INFO, "import: %s", text);
}

static int pass_on(void *arg, const void *p, size_t n, struct err *e)
{
	struct copying *c = arg;

	c->bytes += n;
	if (c->bytes > IMPORT_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "it has more than %llu bytes", IMPORT_MAX_BYTES);
	if (tree_build_feed(c->build, p, n, e) < 0)
		return -1;
	if (c->missed.code != ERR_NONE) {
		*e = c->missed;
		return -1;
	}
	return 0;
}

int import_tree(const struct store *s, const char *name, struct why *y)
{
	struct copying c = { 0 };
	struct tree_sink sink = { .write = pass_on, .arg = &c };
	int from = beneath_open_unlinked(s->places->source, "", O_RDONLY | O_DIRECTORY);
	struct err e;
	int r;

	if (from < 0)
		return why_sys(y, -from, "Directory cannot be read: %s", s->places->source_path);
	c.build = tree_build_new(name, TREE_OUTSIDE | TREE_EXACT, on_note, &c);
	c.build->at = s->fd;
	r = tree_walk_fd(from, name, &sink, &e);
	tree_build_free(c.build);
	if (r < 0)
		return why_set(y, "Directory cannot be copied: %s: %s", s->places->source_path,
			       e.msg);
	return 0;
}
