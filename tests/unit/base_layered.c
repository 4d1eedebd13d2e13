/* Looks for files in a stack of two layers. */
#include "base/layered.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/erase.h"
#include "base/io.h"
#include "t.h"

static int layer[2];

static void put(int at, const char *path)
{
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	T_TRUE(fd >= 0);
	close(fd);
}

static void whiteout(int at, const char *path)
{
	T_INT(mknodat(at, path, S_IFCHR, makedev(0, 0)), 0);
}

/* Returns 0 or 1 if PATH is found in this layer, or -1. */
static int found(const char *path, bool named)
{
	struct stat want, got;
	int fd = layered_open(layer, 2, named, path, &got);
	int r = -1;

	if (fd < 0)
		return -1;
	close(fd);
	for (int i = 0; i < 2; i++)
		if (fstatat(layer[i], path, &want, 0) == 0 && want.st_ino == got.st_ino)
			r = i;
	return r;
}

static void the_topmost_file_counts(void)
{
	put(layer[0], "etc/lower");
	put(layer[0], "etc/both");
	put(layer[1], "etc/both");
	put(layer[1], "etc/upper");
	T_INT(found("etc/lower", false), 0);
	T_INT(found("etc/both", false), 1);
	T_INT(found("etc/upper", false), 1);
	T_INT(found("etc/none", false), -1);
}

static void a_whiteout_hides_a_lower_file(void)
{
	put(layer[0], "etc/gone");
	whiteout(layer[1], "etc/gone");
	T_INT(found("etc/gone", false), -1);
	put(layer[0], "etc/named");
	put(layer[1], "etc/.wh.named");
	T_INT(found("etc/named", false), 0);
	T_INT(found("etc/named", true), -1);
}

static void a_whiteout_hides_a_directory(void)
{
	T_INT(mkdirat(layer[0], "old", 0700), 0);
	put(layer[0], "old/file");
	T_INT(found("old/file", false), 0);
	whiteout(layer[1], "old");
	T_INT(found("old/file", false), -1);
}

static void other_kinds_of_files_hide_a_lower_file(void)
{
	put(layer[0], "etc/kind");
	T_INT(mkdirat(layer[1], "etc/kind", 0700), 0);
	T_INT(found("etc/kind", false), -1);
}

int main(void)
{
	char place[] = "/tmp/cordon-unit-XXXXXX";
	int top;

	T_TRUE(mkdtemp(place) != NULL);
	top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_TRUE(mkdirat(top, "0", 0700) == 0 && mkdirat(top, "1", 0700) == 0);
	for (int i = 0; i < 2; i++) {
		layer[i] = openat(top, i ? "1" : "0", O_PATH | O_DIRECTORY | O_CLOEXEC);
		T_INT(mkdirat(layer[i], "etc", 0700), 0);
	}
	T_RUN(the_topmost_file_counts);
	T_RUN(a_whiteout_hides_a_lower_file);
	T_RUN(a_whiteout_hides_a_directory);
	T_RUN(other_kinds_of_files_hide_a_lower_file);
	close(layer[0]);
	close(layer[1]);
	close(top);
	top = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_INT(erase_tree(top, strrchr(place, '/') + 1), 0);
	close(top);
	return t_end();
}
