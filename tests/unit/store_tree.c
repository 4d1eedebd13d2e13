#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "t.h"

static char top_path[] = "/tmp/cordon-unit-XXXXXX";
static int top = -1;
static const struct rotation none;

static bool exists(const char *path)
{
	return faccessat(top, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make(const char *path)
{
	unsigned made;
	AUTO_FD fd = tree_make_path(top, path, &none, &made);

	T_TRUE(fd >= 0);
}

static void links_stay_inside(void)
{
	unsigned made;
	AUTO_FD a = -1, b = -1, c = -1;

	make("root");
	AUTO_FD root = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	T_INT(symlinkat("/etc", root, "absolute"), 0);
	T_INT(symlinkat("../../../../..", root, "climbing"), 0);
	T_INT(symlinkat("/proc/self/root", root, "magic"), 0);
	T_INT(tree_open(root, "absolute/passwd", O_RDONLY), -ENOENT);
	a = tree_make_path(root, "absolute/inside", &none, &made);
	T_TRUE(a >= 0);
	T_INT(made, 2);
	T_TRUE(exists("root/etc/inside"));
	b = tree_make_path(root, "climbing/here", &none, &made);
	T_TRUE(b >= 0);
	T_TRUE(exists("root/here"));
	c = tree_make_path(root, "magic/tmp", &none, &made);
	T_TRUE(c >= 0);
	T_TRUE(exists("root/proc/self/root/tmp"));
	T_TRUE(!exists("here"));
}

static void loops_end(void)
{
	AUTO_FD root = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned made;

	T_INT(symlinkat("loop2", root, "loop1"), 0);
	T_INT(symlinkat("loop1", root, "loop2"), 0);
	T_TRUE(tree_make_path(root, "loop1/x", &none, &made) < 0);
	/* each time this link is followed, the path gets one component longer */
	T_INT(symlinkat("grow/x", root, "grow"), 0);
	T_TRUE(tree_make_path(root, "grow/y", &none, &made) < 0);
}

int main(void)
{
	if (!mkdtemp(top_path) || (top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	T_RUN(links_stay_inside);
	T_RUN(loops_end);
	T_INT(erase_tree(top, "root"), 0);
	T_INT(rmdir(top_path), 0);
	return t_end();
}
