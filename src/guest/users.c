#include "guest/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#define USERS_KEPT_MAX_BYTES 8192 /* pid 1 reads longer files, which are rare, every time */

static bool unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns true if pid 1 may keep the text of the file: its last change is more than a second old.
 * pid 1 recognizes a changed file by its change time, which no process can set. But two changes
 * within one tick of the clock have the same change time. So if a file was changed just now, pid 1
 * might not notice another change. */
static bool is_old_enough(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > st->st_ctim.tv_sec + 1;
}

static void read_users(const char *path, struct users_file *f)
{
	AUTO_BUF b = BUF_INIT(USER_FILE_MAX_BYTES);
	struct stat before = { 0 }, after = { 0 };
	bool known = stat(path, &before) == 0;

	if (known && f->seen.st_ino && unchanged(&f->seen, &before))
		return;
	free(f->text);
	*f = (struct users_file){ 0 };
	/* if the file is missing or cannot be read, it counts as empty; users given by number
	 * still work */
	if (io_read_file(AT_FDCWD, path, &b) < 0)
		buf_clear(&b);
	/* replace each NUL byte, because it would hide the rest of the text from str_of() */
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == '\0')
			b.p[i] = '?';
	f->text = xstrdup(buf_str(&b));
	if (known && b.n <= USERS_KEPT_MAX_BYTES && stat(path, &after) == 0 &&
	    unchanged(&before, &after) && is_old_enough(&after))
		f->seen = after;
}

static void forget_unkept(struct users_file *f)
{
	if (f->seen.st_ino)
		return;
	free(f->text);
	f->text = NULL;
}

int user_find(struct users *u, const char *spec, struct user *ret, struct err *e)
{
	int r;

	read_users("/etc/passwd", &u->passwd);
	read_users("/etc/group", &u->group);
	r = user_find_in(spec, u->passwd.text, u->group.text, ret, e);
	forget_unkept(&u->passwd);
	forget_unkept(&u->group);
	return r;
}
