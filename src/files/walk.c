#include "files/walk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/dir.h"

const char *const walk_skipped[] = { ".git", "node_modules", "__pycache__", ".venv", "venv",
				     ".tox", "dist",         "build",       NULL };

bool walk_skips(const char *name)
{
	for (size_t i = 0; walk_skipped[i]; i++)
		if (strcmp(name, walk_skipped[i]) == 0)
			return true;
	return false;
}

/* Returns the kind of an entry (DT_*). If the directory does not tell the kind, asks for it with
 * fstatat(). */
static unsigned char kind_of(int dir, const struct dirent *x)
{
	struct stat st;

	if (x->d_type != DT_UNKNOWN)
		return x->d_type;
	return fstatat(dir, x->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? DT_UNKNOWN
		       : (unsigned char)IFTODT(st.st_mode);
}

static void enter(struct walk *w, int fd, unsigned depth);

static void visit(struct walk *w, int dir, const struct dirent *x, unsigned depth)
{
	size_t before = w->path.n;
	unsigned char kind = kind_of(dir, x);
	int fd;

	if ((kind != DT_REG && kind != DT_DIR) || (kind == DT_DIR && walk_skips(x->d_name)))
		return;
	if (before)
		buf_add_char(&w->path, '/');
	buf_add_str(&w->path, x->d_name);
	if (buf_failed(&w->path) || (kind == DT_DIR && depth == WALK_DEPTH_MAX)) {
		w->cut = true;
	} else if (kind == DT_REG) {
		w->stopped = !w->file(w->arg, dir, x->d_name,
				      (struct str){ buf_str(&w->path), w->path.n });
	} else {
		fd = openat(dir, x->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0)
			enter(w, fd, depth + 1);
	}
	w->path.failed = false;
	buf_cut(&w->path, before);
}

static void enter(struct walk *w, int fd, unsigned depth)
{
	AUTO_DIR d = fdopendir(fd);
	const struct dirent *x;

	if (!d) {
		close(fd);
		return;
	}
	while (!w->stopped && (x = dir_next(d))) {
		if (w->entries++ == WALK_ENTRIES_MAX) {
			w->cut = w->stopped = true;
			return;
		}
		visit(w, fd, x, depth);
	}
}

void walk_run(struct walk *w, int fd)
{
	buf_init(&w->path, WALK_PATH_MAX_BYTES);
	enter(w, fd, 0);
	buf_done(&w->path);
}
