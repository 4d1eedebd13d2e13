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
#include "base/str.h"

#define USERS_KEPT_MAX_BYTES 8192       /* longer files, which are rare, are read every time */
#define USERS_FILE_MAX_BYTES (1u << 20) /* thousands of users; a longer file counts as empty */

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static bool same(struct str a, struct str b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* Splits the next line into fields at colons; missing fields are empty. False at the end of the text. */
static bool next_entry(struct str *text, struct str *field, unsigned n)
{
	struct str line;

	if (!text->p || text->n == 0)
		return false;
	line = str_cut(text, '\n');
	for (unsigned i = 0; i < n; i++)
		field[i] = line.p ? str_cut(&line, ':') : (struct str){ "", 0 };
	return true;
}

static bool id_of(struct str s, uint32_t *ret)
{
	uint64_t v;

	/* the kernel takes -1 for "do not change": it is never an id */
	if (parse_u64_str(s, 0, UINT32_MAX - 1, &v) < 0)
		return false;
	*ret = (uint32_t)v;
	return true;
}

struct account {
	struct str name;
	uint32_t uid, gid;
	struct str home;
};

static bool find_account(const char *passwd, bool by_id, uint32_t uid, struct str name,
			 struct account *ret)
{
	struct str text = str_of(passwd), f[7];

	while (next_entry(&text, f, 7)) {
		struct account a = { .name = f[0], .home = f[5] };

		if (!id_of(f[2], &a.uid) || !id_of(f[3], &a.gid) || a.name.n == 0)
			continue;
		if (by_id ? a.uid == uid : same(a.name, name)) {
			*ret = a;
			return true;
		}
	}
	return false;
}

static bool find_group(const char *group, struct str name, uint32_t *ret)
{
	struct str text = str_of(group), f[4];

	while (next_entry(&text, f, 4))
		if (f[0].n && same(f[0], name) && id_of(f[2], ret))
			return true;
	return false;
}

static void add_memberships(const char *group, struct str name, struct user *u)
{
	struct str text = str_of(group), f[4];
	uint32_t gid;

	while (next_entry(&text, f, 4)) {
		struct str members = f[3];

		if (!id_of(f[2], &gid))
			continue;
		while (members.p && u->n_groups < USER_GROUPS_MAX)
			if (same(str_cut(&members, ','), name)) {
				u->group[u->n_groups++] = gid;
				break;
			}
	}
}

int user_find_in(const char *spec, const char *passwd, const char *group, struct user *ret,
		 struct err *e)
{
	struct str rest = str_of(spec ? spec : "0");
	struct str who = str_cut(&rest, ':');
	bool has_group = rest.p != NULL;
	bool numeric = all_digits(who);
	struct account a;
	bool known;

	*ret = (struct user){ .home = "/" };
	if (who.n == 0 || (has_group && rest.n == 0))
		return err_set(e, ERR_INVALID, "bad user '%s': empty part", spec);
	if (numeric && !id_of(who, &ret->uid))
		return err_set(e, ERR_INVALID, "bad user '%s': not a user id", spec);
	known = find_account(passwd, numeric, ret->uid, who, &a);
	if (!known && !numeric)
		return err_set(e, ERR_NOT_FOUND,
			       "user '%.*s' not found in the sandbox's /etc/passwd",
			       (int)(who.n > 64 ? 64 : who.n), who.p);
	if (known) {
		ret->uid = a.uid;
		ret->gid = a.gid;
		if (a.home.n && a.home.n < USER_HOME_BYTES && a.home.p[0] == '/')
			snprintf(ret->home, sizeof(ret->home), "%.*s", (int)a.home.n, a.home.p);
	}
	if (has_group) {
		if (all_digits(rest) ? !id_of(rest, &ret->gid)
				     : !find_group(group, rest, &ret->gid))
			return err_set(e, ERR_NOT_FOUND, "group '%.*s' not found in the sandbox",
				       (int)(rest.n > 64 ? 64 : rest.n), rest.p);
	} else if (known) {
		add_memberships(group, a.name, ret);
	}
	return 0;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* No process can set a change time, but two changes within one tick of the clock have the same time. So pid 1 does not keep a
 * file that was changed just now. */
static bool is_old_enough(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > st->st_ctim.tv_sec + 1;
}

static void read_users(const char *path, struct users_file *f)
{
	AUTO_BUF b = BUF_INIT(USERS_FILE_MAX_BYTES);
	struct stat before = { 0 }, after = { 0 };
	bool known = stat(path, &before) == 0;

	if (known && f->seen.st_ino && unchanged(&f->seen, &before))
		return;
	free(f->text);
	*f = (struct users_file){ 0 };
	/* a file that is missing or cannot be read counts as empty: numeric users still work */
	if (io_read_file(AT_FDCWD, path, &b) < 0)
		buf_clear(&b);
	/* NUL bytes would hide the rest of the text from str_of() */
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
