#include "base/user.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

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

/* Splits the next line into fields at colons; missing fields are empty. Returns false at the end of
 * the text. */
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

	/* -1 is never an id, because for the kernel it means "do not change" */
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
