/* Tests how a server's default workspace and its markers are found. The test uses a new directory
 * with links. */
#include "client/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "client/source_rules.h"
#include "t.h"

#define SHA256_OF_HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static char top[] = "/tmp/cordon-unit-XXXXXX";

static char *at(const char *rest)
{
	return xasprintf("%s/%s", top, rest);
}

static void write_file(const char *name, const char *p, size_t n)
{
	AUTO_FD fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	T_INT(write(fd, p, n), (ssize_t)n);
}

/* --- the directory ---------------------------------------------------------------------------- */

static enum err_code find(const char *rest, const char *root, bool make, const char *wanted,
			  bool usable)
{
	AUTO_FREE char *path = at(rest);
	AUTO_FREE char *above = at(root ? root : "");
	AUTO_FREE char *place = at(wanted ? wanted : "");
	AUTO_FREE char *got = NULL;
	const char *const roots[] = { above };
	const struct source_rules r = { .root = roots, .n_roots = root ? 1 : 0 };
	struct err e = { 0 };
	bool is_usable = false;

	if (workspace_find(path, &r, make, &got, &is_usable, &e) < 0)
		return e.code;
	T_STR(got, place);
	T_INT(is_usable, usable);
	return ERR_NONE;
}

static void an_existing_workspace_is_found(void)
{
	T_INT(find("dir", "dir", false, "dir", true), ERR_NONE);
	T_INT(find("link", "dir", false, "dir", true), ERR_NONE);
	T_INT(find("dir", NULL, true, "dir", false), ERR_NONE);
	T_INT(find("dir", "other", true, "dir", false), ERR_NONE);
	T_INT(find("dir/file", "dir", true, NULL, false), ERR_INVALID);
	T_INT(find("dir/none", "dir", false, NULL, false), ERR_NOT_FOUND);
}

static void a_missing_workspace_is_made_in_a_root_only(void)
{
	T_INT(find("dir/none", NULL, true, NULL, false), ERR_NOT_FOUND);
	T_INT(find("dir/none", "other", true, NULL, false), ERR_DENIED);
	T_INT(find("dir/out/none", "dir", true, NULL, false), ERR_DENIED);
	T_INT(access("dir/none", F_OK), -1);
	T_INT(access("other/none", F_OK), -1);
	T_INT(find("link/a/b", "dir", true, "dir/a/b", true), ERR_NONE);
}

/* --- markers ---------------------------------------------------------------------------------- */

static enum err_code read_marker(const char *dir, const char *name, bool erase)
{
	AUTO_FREE char *path = at(dir);
	AUTO_FREE char *digest = NULL;
	struct err e = { 0 };
	uint64_t size;

	if (workspace_read_marker(path, name, erase, &digest, &size, &e) < 0)
		return e.code;
	T_STR(digest, SHA256_OF_HELLO);
	T_INT(size, 5);
	return ERR_NONE;
}

static void markers(void)
{
	static char large[WORKSPACE_MARKER_MAX_BYTES + 1];

	write_file("dir/.langbot-box-good", "hello", 5);
	write_file("dir/.langbot-box-empty", "", 0);
	write_file("dir/.langbot-box-large", large, sizeof(large));
	T_INT(symlink(".langbot-box-good", "dir/.langbot-box-to-good"), 0);
	T_INT(mkfifo("dir/.langbot-box-pipe", 0600), 0);
	T_INT(read_marker("dir", ".langbot-box-good", false), ERR_NONE);
	T_INT(read_marker("dir", ".langbot-box-empty", false), ERR_INVALID);
	T_INT(read_marker("dir", ".langbot-box-large", false), ERR_INVALID);
	T_INT(read_marker("dir", ".langbot-box-to-good", false), ERR_INVALID);
	T_INT(read_marker("dir", ".langbot-box-pipe", false), ERR_INVALID);
	T_INT(read_marker("dir", ".langbot-box-/../../dir/.langbot-box-good", false), ERR_INVALID);
	T_INT(read_marker("dir", "..", false), ERR_INVALID);
	T_INT(read_marker("dir", "file", true), ERR_INVALID); /* no marker has such a name */
	T_INT(access("dir/file", F_OK), 0);
	T_INT(read_marker("dir", "", false), ERR_INVALID);
	T_INT(read_marker("dir", ".langbot-box-none", false), ERR_NOT_FOUND);
	T_INT(read_marker("link", ".langbot-box-good", false),
	      ERR_SYSTEM); /* links are not followed */
	T_INT(read_marker("dir", ".langbot-box-good", true), ERR_NONE);
	T_INT(access("dir/.langbot-box-good", F_OK), -1);
}

/* Removes the directory of the test. */
static void nothing_is_left(void)
{
	T_INT(chdir("/tmp"), 0);
	T_INT(erase_tree(AT_FDCWD, strrchr(top, '/') + 1), 0);
}

int main(void)
{
	T_TRUE(mkdtemp(top));
	T_INT(chdir(top), 0);
	T_INT(mkdir("dir", 0755), 0);
	T_INT(mkdir("other", 0755), 0);
	T_INT(symlink("dir", "link"), 0);
	T_INT(symlink("../other", "dir/out"), 0);
	write_file("dir/file", "", 0);
	T_RUN(an_existing_workspace_is_found);
	T_RUN(a_missing_workspace_is_made_in_a_root_only);
	T_RUN(markers);
	T_RUN(nothing_is_left);
	return t_end();
}
