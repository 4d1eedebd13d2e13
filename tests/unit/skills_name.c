#include "skills/name.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "t.h"

/* Returns the name that name_check() accepts, or in angle brackets the reason why RAW is
 * refused. */
static char *checked(const char *raw)
{
	AUTO_WHY y = WHY_INIT;
	char *name;

	if (name_check(str_of(raw), &name, &y) < 0)
		return xasprintf("<%s>", buf_str(&y.text));
	return name;
}

#define NAME(raw, want)                              \
	do {                                         \
		AUTO_FREE char *got_ = checked(raw); \
		T_STR(got_, want);                   \
	} while (0)

static void names(void)
{
	static const char bad[] =
		"<Skill name can only contain letters, numbers, hyphens and underscores>";
	char longest[65];

	NAME("csv-tools", "csv-tools");
	NAME(" \t csv_2\n", "csv_2");
	NAME("\xe6\x8a\x80\xe8\x83\xbd\xd9\xa3", "\xe6\x8a\x80\xe8\x83\xbd\xd9\xa3");
	NAME("", "<Skill name is required>");
	NAME(" \xe3\x80\x80 ", "<Skill name is required>");
	NAME("a b", bad);
	NAME("a/b", bad);
	NAME("..", bad);
	NAME("a.b", bad);
	NAME("--_", bad);
	NAME("e\xcc\x81", bad); /* a combining mark is no letter */
	NAME("a\xff", bad);
	memset(longest, 'x', 64);
	longest[64] = '\0';
	NAME(longest, longest);
	/* 64 characters of three bytes are accepted, and 65 are not */
	{
		AUTO_BUF b = BUF_INIT(1000);

		for (int i = 0; i < 64; i++)
			buf_add_str(&b, "\xe6\x8a\x80");
		NAME(b.p, b.p);
		buf_add_str(&b, "x");
		NAME(b.p, "<Skill name cannot exceed 64 characters>");
	}
}

#define STEM(file, want)                                        \
	do {                                                    \
		AUTO_FREE char *got_ = name_stem(str_of(file)); \
		T_STR(got_, want);                              \
	} while (0)

static void stems(void)
{
	STEM("kit.zip", "kit");
	STEM("/some/where/kit.zip", "kit");
	STEM("a.b.zip", "a-b");
	STEM("My Skill (1).zip", "My-Skill--1");
	STEM(".zip", "zip");
	STEM("..zip", "zip");
	STEM("", "uploaded-skill");
	STEM("---.zip", "uploaded-skill");
	STEM("__a__.zip", "a");
	STEM("kit", "kit");
	STEM("dir/", "uploaded-skill");
	STEM("\xe6\x8a\x80\xe8\x83\xbd.zip", "\xe6\x8a\x80\xe8\x83\xbd");
	STEM("..", "uploaded-skill");
	STEM("a\\..\\b.zip", "a----b");
}

#define NORMAL(path, want)                                           \
	do {                                                         \
		AUTO_FREE char *got_ = path_normalise(str_of(path)); \
		T_STR(got_, want);                                   \
	} while (0)

static void normal_paths(void)
{
	NORMAL("", ".");
	NORMAL(".", ".");
	NORMAL("./", ".");
	NORMAL("a", "a");
	NORMAL("a/", "a");
	NORMAL("a//b/./c", "a/b/c");
	NORMAL("a/..", ".");
	NORMAL("a/../..", "..");
	NORMAL("../a", "../a");
	NORMAL("../../a/../b", "../../b");
	NORMAL("a/b/../../..", "..");
	NORMAL("../..", "../..");
	NORMAL("../a/..", "..");
	NORMAL("..a/...", "..a/...");
	NORMAL("/", "/");
	NORMAL("//a", "/a");
	NORMAL("/..", "/");
	NORMAL("/a/../../b", "/b");
	NORMAL("/a/b/..", "/a");
}

static char *inside(const char *raw, size_t n)
{
	AUTO_WHY y = WHY_INIT;
	char *path;

	if (path_check((struct str){ raw, n }, &path, &y) < 0)
		return xasprintf("<%s>", buf_str(&y.text));
	return path;
}

#define INSIDE(raw, want)                                            \
	do {                                                         \
		AUTO_FREE char *got_ = inside(raw, sizeof(raw) - 1); \
		T_STR(got_, want);                                   \
	} while (0)

static void paths_inside(void)
{
	static const char stay[] = "<path must stay within the skill package root>";

	INSIDE("", ".");
	INSIDE("  ", ".");
	INSIDE(" scripts/../scripts//run.py ", "scripts/run.py");
	INSIDE("..data", "..data");
	INSIDE("..", stay);
	INSIDE("a/../../b", stay);
	INSIDE("/etc/passwd", "<path must be relative to the skill package root>");
	INSIDE(" /etc", "<path must be relative to the skill package root>");
	INSIDE("a\0b", "<embedded null byte>");
}

static bool below(const char *path, const char *dir, const char *want)
{
	const char *rest;

	return path_is_below(path, dir, &rest) ? want && strcmp(rest, want) == 0 : !want;
}

static void below_a_directory(void)
{
	T_TRUE(below("/a/b", "/a", "b"));
	T_TRUE(below("/a", "/a", ""));
	T_TRUE(below("/ab", "/a", NULL));
	T_TRUE(below("/a", "/a/b", NULL));
	T_TRUE(below("/a", "/", "a"));
	T_TRUE(below("a/b", "", "a/b"));
	T_TRUE(below("a/b", ".", "a/b"));
	T_TRUE(below("a/b/c", "a/b", "c"));
	T_STR(path_leaf("a/b"), "b");
	T_STR(path_leaf("b"), "b");
}

int main(void)
{
	T_RUN(names);
	T_RUN(stems);
	T_RUN(normal_paths);
	T_RUN(paths_inside);
	T_RUN(below_a_directory);
	return t_end();
}
