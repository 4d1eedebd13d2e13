#include "skills/name.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/unicode.h"

/* --- names ----------------------------------------------------------------------------------- */

static bool is_word_character(uint32_t c)
{
	return c == '-' || c == '_' || unicode_is_alnum(c);
}

bool name_is_word(struct str s)
{
	while (s.n)
		if (!is_word_character(unicode_take(&s)))
			return false;
	return true;
}

/* True if S has a letter or a digit. */
static bool has_alnum(struct str s)
{
	while (s.n)
		if (unicode_is_alnum(unicode_take(&s)))
			return true;
	return false;
}

int name_check(struct str raw, char **ret, struct why *y)
{
	struct str s = unicode_trim(raw);

	if (s.n == 0)
		return why_set(y, "Skill name is required");
	if (!name_is_word(s) || !has_alnum(s))
		return why_set(
			y, "Skill name can only contain letters, numbers, hyphens and underscores");
	if (unicode_count(s) > SKILL_NAME_MAX_CHARS)
		return why_set(y, "Skill name cannot exceed %u characters", SKILL_NAME_MAX_CHARS);
	*ret = xstrndup(s.p, s.n);
	return 0;
}

static const char *last_byte(struct str s, char c)
{
	return s.n ? memrchr(s.p, c, s.n) : NULL;
}

/* Returns S without its directory and its extension. A dot at the front does not begin an
 * extension. */
static struct str bare_name(struct str s)
{
	const char *slash = last_byte(s, '/'), *dot;
	size_t dots = 0;

	if (slash)
		s = (struct str){ slash + 1, (size_t)(s.p + s.n - slash - 1) };
	while (dots < s.n && s.p[dots] == '.')
		dots++;
	dot = last_byte(s, '.');
	if (dot && (size_t)(dot - s.p) >= dots)
		s.n = (size_t)(dot - s.p);
	return s;
}

char *name_stem(struct str file)
{
	struct str s = bare_name(unicode_trim(file));
	AUTO_BUF out = BUF_INIT(s.n);
	size_t edge = 0;

	while (s.n) {
		const char *at = s.p;

		if (is_word_character(unicode_take(&s)))
			buf_add(&out, at, (size_t)(s.p - at));
		else
			buf_add_char(&out, '-');
	}
	while (out.n && strchr("-_", out.p[out.n - 1]))
		buf_cut(&out, out.n - 1);
	while (edge < out.n && strchr("-_", out.p[edge]))
		edge++;
	buf_drop(&out, edge);
	return out.n ? buf_take(&out) : xstrdup("uploaded-skill");
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Removes the last component of OUT, but keeps the first BASE bytes of OUT. */
static void leave_component(struct buf *out, size_t base)
{
	size_t n = out->n;

	while (n > base && out->p[n - 1] != '/')
		n--;
	buf_cut(out, n > base ? n - 1 : base);
}

char *path_normalise(struct str path)
{
	bool absolute = path.n && path.p[0] == '/';
	AUTO_BUF out = BUF_INIT(path.n + 1);
	/* `ups` is the number of `..` components at the beginning of OUT */
	size_t base = absolute, ups = 0;

	if (absolute)
		buf_add_char(&out, '/');
	while (path.p) {
		struct str part = str_cut(&path, '/');
		bool up = str_eq(part, "..");

		if (part.n == 0 || str_eq(part, ".") || (up && absolute && out.n == base))
			continue;
		if (up && out.n > base + (ups ? 3 * ups - 1 : 0)) {
			leave_component(&out, base);
			continue;
		}
		ups += up;
		if (out.n > base)
			buf_add_char(&out, '/');
		buf_add(&out, part.p, part.n);
	}
	return out.n ? buf_take(&out) : xstrdup(".");
}

int path_check(struct str raw, char **ret, struct why *y)
{
	struct str s = unicode_trim(raw);
	AUTO_FREE char *path = NULL;

	if (s.n && s.p[0] == '/')
		return why_set(y, "path must be relative to the skill package root");
	if (s.n && memchr(s.p, 0, s.n))
		return why_set(y, "embedded null byte");
	path = path_normalise(s);
	if (strcmp(path, "..") == 0 || starts_with(path, "../"))
		return why_set(y, "path must stay within the skill package root");
	*ret = TAKE(path);
	return 0;
}

bool path_is_below(const char *path, const char *dir, const char **ret_rest)
{
	size_t n = strcmp(dir, ".") == 0 ? 0 : strlen(dir);

	if (strncmp(path, dir, n) != 0)
		return false;
	if (n == 0 || strcmp(dir, "/") == 0)
		*ret_rest = path + n;
	else if (path[n] == '\0')
		*ret_rest = path + n;
	else if (path[n] == '/')
		*ret_rest = path + n + 1;
	else
		return false;
	return true;
}
