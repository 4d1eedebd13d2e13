#include "files/path.h"

#include <errno.h>

#include "t.h"

static const struct {
	const char *path, *below;
	int result;
} table[] = {
	{ "/workspace", "", 0 },
	{ "/workspace/", "", 0 },
	{ "", "", 0 },
	{ "a/b", "a/b", 0 },
	{ "/workspace//a/./b/", "a/b", 0 },
	{ "/workspace/a/../b", "b", 0 },
	{ "/workspace/a/b/../../c", "c", 0 },
	{ "/workspace/..", NULL, -EXDEV },
	{ "/workspace/../workspace/a", NULL, -EXDEV },
	{ "../etc/passwd", NULL, -EXDEV },
	{ "a/../../b", NULL, -EXDEV },
	{ "/workspacex/a", NULL, -EINVAL },
	{ "/etc/passwd", NULL, -EINVAL },
	{ "/", NULL, -EINVAL },
	{ "//workspace/a", NULL, -EINVAL },
};

static void paths_stay_below_the_top(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		AUTO_BUF out = BUF_INIT(PATH_MAX_BYTES);

		T_INT(path_from_top("/workspace", str_of(table[i].path), &out), table[i].result);
		if (table[i].below)
			T_STR(buf_str(&out), table[i].below);
	}
}

static void a_long_path_is_refused(void)
{
	AUTO_BUF out = BUF_INIT(PATH_MAX_BYTES);
	char text[PATH_MAX_BYTES + 1];

	memset(text, 'a', sizeof(text));
	T_INT(path_from_top("/workspace", (struct str){ text, sizeof(text) }, &out), -ENAMETOOLONG);
}

int main(void)
{
	T_RUN(paths_stay_below_the_top);
	T_RUN(a_long_path_is_refused);
	return t_end();
}
