#include "guest/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/erase.h"
#include "base/io.h"
#include "tree/build.h"
#include "tree/place.h"
#include "tree/walk.h"

#define READ_CHUNK_BYTES 65536

static int write_out(void *arg, const void *p, size_t n, struct err *e)
{
	int r = io_write_all(1, p, n);

	return r < 0 ? err_sys(e, -r, "answer") : 0;
}

static void pass_note(void *arg, enum file_record_type type, const char *text)
{
	AUTO_BUF b = BUF_INIT(2 * FILE_TEXT_MAX_BYTES);
	struct err ignored;

	file_put_note(&b, type, text);
	IGNORE(write_out(NULL, b.p, b.n, &ignored)); /* if the client left, pid 1 kills the agent */
}

static int get_top(const struct file_message *m, struct err *e)
{
	AUTO_BUF b = BUF_INIT(256);
	struct stat st;

	if (stat(m->path, &st) < 0)
		return err_sys(e, errno, "'%s'", m->path);
	if (S_ISDIR(st.st_mode))
		file_put_dir(&b, 0755, "top");
	else
		file_put_file(&b, 0644, "top");
	file_put_end(&b);
	return write_out(NULL, b.p, b.n, e);
}

static int get(const struct file_message *m, struct err *e)
{
	const struct tree_sink out = { .write = write_out, .keep_same = m->flags & FILE_KEEP_SAME };
	AUTO_FREE char *real = NULL;

	if (m->flags & FILE_TOP)
		return get_top(m, e);
	/* commands may change links at any time, but this does no harm: a changed link leads only
	 * to files that the agent may read anyway */
	if (m->flags & FILE_FOLLOW && !(real = realpath(m->path, NULL)))
		return err_sys(e, errno, "'%s'", m->path);
	return tree_walk(real ? real : m->path, &out, e);
}

static int put(const struct file_message *m, struct err *e)
{
	static char chunk[READ_CHUNK_BYTES];
	unsigned flags =
		(m->flags & FILE_PATCH ? TREE_OWN : 0) | (m->flags & FILE_EXACT ? TREE_EXACT : 0);
	struct tree_build *b = tree_build_new(m->path, flags, pass_note, NULL);
	int r = 0;

	b->name = m->name;
	while (r == 0 && !b->ended) {
		ssize_t n = read(0, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			r = err_set(e, ERR_PROTOCOL, "the files ended early");
		else
			r = tree_build_feed(b, chunk, (size_t)n, e);
	}
	tree_build_free(b);
	return r;
}

static int make_dir(const struct file_message *m, struct err *e)
{
	AUTO_FD fd = -1;

	return tree_make_own(m->path, &fd, e);
}

static int remove_path(const struct file_message *m, struct err *e)
{
	struct tree_place p;
	AUTO_FD dir = -1;
	struct stat st;
	int r;

	if (lstat(m->path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	r = tree_place_own(m->path, "", true, &p, e);
	dir = p.dir;
	if (r < 0)
		return -1;
	r = erase_tree(dir, p.name);
	if (r == -EXDEV || r == -EBUSY)
		return err_set(e, ERR_DENIED, "'%s' is on a mount, or has one in it", m->path);
	return r < 0 ? err_sys(e, -r, "remove '%s'", m->path) : 0;
}

/* Sets *RET to the state of the directory PATH. If PATH is no directory, takes the nearest
 * directory above PATH instead. Returns 0 or -ENOENT. */
static int look_above(const char *path, struct statx *ret)
{
	AUTO_FREE char *at = xstrdup(path);

	for (;;) {
		char *slash = strrchr(at, '/');

		if (syscall(SYS_statx, AT_FDCWD, *at ? at : "/", 0,
			    STATX_BASIC_STATS | STATX_MNT_ID, ret) == 0 &&
		    S_ISDIR(ret->stx_mode))
			return 0;
		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
}

/* If the files go into a shared directory that belongs to the user as whom the sandbox's commands
 * run, changes to the ids of this user. If the agent stayed root of the sandbox, it could not make
 * files in this directory, or the files would belong to an id that no user of the host has. */
static int become_owner(const struct agent_args *a, struct err *e)
{
	struct statx root, place;

	if ((!a->owner_uid && !a->owner_gid) || look_above("/", &root) < 0 ||
	    look_above(a->message->path, &place) < 0 || place.stx_mnt_id == root.stx_mnt_id ||
	    place.stx_uid != a->owner_uid || place.stx_gid != a->owner_gid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(a->owner_gid, a->owner_gid, a->owner_gid) < 0 ||
	    setresuid(a->owner_uid, a->owner_uid, a->owner_uid) < 0)
		return err_sys(e, errno, "work as the user %u", a->owner_uid);
	return 0;
}

int agent_main(const void *arg)
{
	const struct agent_args *a = arg;
	const struct file_message *m = a->message;
	AUTO_BUF last = BUF_INIT(2 * FILE_TEXT_MAX_BYTES);
	struct err e = { 0 }, ignored;
	int r = -1;

	umask(022); /* only for missing parent directories; all other files get an explicit mode */
	switch (m->op) {
	case FILE_GET:
		r = get(m, &e);
		break;
	case FILE_PUT:
		r = become_owner(a, &e) < 0 ? -1 : put(m, &e);
		break;
	case FILE_MKDIR:
		r = become_owner(a, &e) < 0 ? -1 : make_dir(m, &e);
		break;
	case FILE_REMOVE:
		r = remove_path(m, &e);
		break;
	case FILE_OP_COUNT:
		break;
	}
	if (r < 0)
		file_put_fail(&last, (unsigned)e.code, e.msg);
	else
		file_put_done(&last);
	return write_out(NULL, last.p, last.n, &ignored) < 0;
}
