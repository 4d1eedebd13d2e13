#include "guest/caller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* --- /proc/TID/status ------------------------------------------------------------------------ */

/* Finds the line of TEXT that begins with NAME, and sets *RET to the rest of the line. No program
 * name can look like such a line, because the kernel escapes line ends in names. */
static bool find_line(struct str text, const char *name, struct str *ret)
{
	while (text.n) {
		struct str line = str_cut(&text, '\n');

		if (line.n >= strlen(name) && memcmp(line.p, name, strlen(name)) == 0) {
			*ret = (struct str){ line.p + strlen(name), line.n - strlen(name) };
			return true;
		}
	}
	return false;
}

/* Cuts the next word off REST; tabs and blanks separate words. */
static struct str next_word(struct str *rest)
{
	size_t n = 0;

	while (rest->n && (rest->p[0] == '\t' || rest->p[0] == ' ')) {
		rest->p++;
		rest->n--;
	}
	while (n < rest->n && rest->p[n] != '\t' && rest->p[n] != ' ')
		n++;
	struct str word = { rest->p, n };

	rest->p += n;
	rest->n -= n;
	return word;
}

static int number(struct str text, const char *name, unsigned column, uint32_t *ret)
{
	struct str line, word = { 0 };
	uint64_t v;

	if (!find_line(text, name, &line))
		return -E2BIG;
	for (unsigned i = 0; i <= column; i++)
		word = next_word(&line);
	if (parse_u64_str(word, 0, UINT32_MAX, &v) < 0)
		return -EINVAL;
	*ret = (uint32_t)v;
	return 0;
}

static int groups(struct str text, struct caller *ret)
{
	struct str line, word;
	uint64_t v;

	ret->n_groups = 0;
	if (!find_line(text, "Groups:", &line))
		return -E2BIG;
	while ((word = next_word(&line)).n) {
		if (ret->n_groups == CALLER_GROUPS_MAX)
			return -E2BIG;
		if (parse_u64_str(word, 0, UINT32_MAX, &v) < 0)
			return -EINVAL;
		ret->group[ret->n_groups++] = (uint32_t)v;
	}
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int capabilities(struct str text, uint64_t *ret)
{
	struct str line, word;

	if (!find_line(text, "CapEff:", &line))
		return -E2BIG;
	word = next_word(&line);
	if (word.n != 16)
		return -EINVAL;
	*ret = 0;
	for (size_t i = 0; i < word.n; i++) {
		int digit = hex_digit(word.p[i]);

		if (digit < 0)
			return -EINVAL;
		*ret = *ret << 4 | (unsigned)digit;
	}
	return 0;
}

int caller_parse(struct str status, struct caller *ret)
{
	enum { FS_COLUMN = 3 }; /* the columns: real, effective, saved and file system id */
	uint32_t tgid = 0;
	int r = number(status, "Tgid:", 0, &tgid);

	ret->tgid = (pid_t)tgid;
	if (r == 0)
		r = number(status, "Uid:", FS_COLUMN, &ret->uid);
	if (r == 0)
		r = number(status, "Gid:", FS_COLUMN, &ret->gid);
	if (r == 0)
		r = groups(status, ret);
	return r < 0 ? r : capabilities(status, &ret->capabilities);
}

/* --- links ----------------------------------------------------------------------------------- */

/* Removes PREFIX and the slashes after it from the front of PATH. Returns false if PREFIX is not
 * the first component of PATH. */
static bool take_prefix(const char **path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(*path, prefix, n) != 0 || ((*path)[n] != '/' && (*path)[n] != '\0'))
		return false;
	*path += n + strspn(*path + n, "/");
	return true;
}

/* *PATH is relative to /proc. If its first component means the caller ("self", "thread-self" or one
 * of the caller's numbers), removes this component, writes the caller's directory below /proc to
 * WHO, for example "12/task/13", and returns true. Otherwise returns false. */
static bool take_process(const struct caller *c, const char **path, char who[CALLER_LINK_BYTES])
{
	char tgid[16], tid[16];

	snprintf(tgid, sizeof(tgid), "%d", (int)c->tgid);
	snprintf(tid, sizeof(tid), "%d", (int)c->tid);
	snprintf(who, CALLER_LINK_BYTES, "%s", tgid);
	if (take_prefix(path, "self") || take_prefix(path, tgid))
		return true;
	snprintf(who, CALLER_LINK_BYTES, "%s/task/%s", tgid, tid);
	return take_prefix(path, "thread-self") || take_prefix(path, tid);
}

bool caller_owns_link(const struct caller *c, const char *path, char ret_link[CALLER_LINK_BYTES],
		      const char **ret_rest)
{
	static const char *const links[] = { "cwd", "root", "exe" };
	char who[CALLER_LINK_BYTES];
	size_t digits;

	snprintf(who, sizeof(who), "%d", (int)c->tgid);
	if (take_prefix(&path, "/dev/fd")) {
		digits = strspn(path, "0123456789");
	} else {
		if (!take_prefix(&path, "/proc") || !take_process(c, &path, who))
			return false;
		for (size_t i = 0; i < ARRAY_SIZE(links); i++)
			if (take_prefix(&path, links[i])) {
				snprintf(ret_link, CALLER_LINK_BYTES, "%.40s/%s", who, links[i]);
				*ret_rest = path;
				return true;
			}
		if (!take_prefix(&path, "fd"))
			return false;
		digits = strspn(path, "0123456789");
	}
	if (digits == 0 || digits > 10 || (path[digits] != '/' && path[digits] != '\0'))
		return false;
	snprintf(ret_link, CALLER_LINK_BYTES, "%.40s/fd/%.*s", who, (int)digits, path);
	*ret_rest = path + digits + strspn(path + digits, "/");
	return true;
}
