#include "files/pattern.h"

#include <errno.h>

#include "t.h"

static const struct {
	const char *pattern, *path;
	bool matches;
} table[] = {
	{ "*.py", "a.py", true },
	{ "*.py", "x/y/a.py", true },
	{ "*.py", "a.pyc", false },
	{ "*.py", ".py", true },
	{ "src/*.py", "src/a.py", true },
	{ "src/*.py", "x/src/a.py", true },
	{ "src/*.py", "src/x/a.py", false },
	{ "src/**/*.py", "src/a.py", true },
	{ "src/**/*.py", "src/x/y/a.py", true },
	{ "src/**/*.py", "srcx/a.py", false },
	{ "**/a", "a", true },
	{ "**", "x/y", true },
	{ "a/**", "a/b/c", true },
	{ "a/**", "b/a", true },
	{ "a/**/b/**/c", "a/x/b/y/z/c", true },
	{ "a/**/b/**/c", "a/x/b/y/z/d", false },
	{ "./a//b", "a/b", true },
	{ "?", "\xc3\xa9", true },
	{ "?", "ab", false },
	{ "[a-c]", "b", true },
	{ "[!a-c]", "b", false },
	{ "[!a-c]", "d", true },
	{ "[]]", "]", true },
	{ "[a-]", "-", true },
	{ "[", "[", true },
	{ "[a", "[a", true },
	{ "*a*b*c", "xaxbxc", true },
	{ "*a*b*c", "xaxbx", false },
	{ "a*", "a", true },
	{ "A", "a", false },
};

static void patterns_match_as_rglob_does(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct pattern p;
		bool got;

		T_INT(pattern_read(&p, str_of(table[i].pattern)), 0);
		got = pattern_matches(&p, str_of(table[i].path));
		if (got != table[i].matches)
			T_FAIL("%s on %s: %d", table[i].pattern, table[i].path, got);
	}
}

static void patterns_that_lead_out_are_refused(void)
{
	static const char *const bad[] = { "", "/", "/a", "..", "a/../b", "./." };
	struct pattern p;
	char deep[2 * PATTERN_PARTS_MAX + 3];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		T_INT(pattern_read(&p, str_of(bad[i])), -EINVAL);
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 ? '/' : 'a';
	T_INT(pattern_read(&p, (struct str){ deep, sizeof(deep) }), -E2BIG);
}

/* A matcher without bounds would never finish here. */
static void many_stars_cost_little(void)
{
	char pattern[256], name[256], path[600];
	struct pattern p;

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % 2 ? '*' : 'a';
	memset(name, 'a', sizeof(name));
	pattern[sizeof(pattern) - 1] = 'b';
	T_INT(pattern_read(&p, (struct str){ pattern, sizeof(pattern) }), 0);
	T_TRUE(!pattern_matches(&p, (struct str){ name, sizeof(name) }));
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'a';
	T_INT(pattern_read(&p, STR("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b")), 0);
	T_TRUE(!pattern_matches(&p, (struct str){ path, sizeof(path) - 1 }));
}

int main(void)
{
	T_RUN(patterns_match_as_rglob_does);
	T_RUN(patterns_that_lead_out_are_refused);
	T_RUN(many_stars_cost_little);
	return t_end();
}
