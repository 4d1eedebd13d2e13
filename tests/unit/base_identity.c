#include "base/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

static struct err e;
static char top[] = "/tmp/cordon-identity-XXXXXX";

static char *in_top(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

/* If both objects have a handle, identity_equal() compares only the handles. Otherwise it compares
 * the inodes, and the times of birth if both are known. */
static void equal(void)
{
	const struct identity a = { .known = true,
				    .handle_n = 2,
				    .handle_type = 1,
				    .handle = { 1, 2 },
				    .inode = 7,
				    .has_birth = true,
				    .birth_s = 5,
				    .birth_ns = 6 };
	struct identity b = a;

	T_TRUE(identity_equal(&a, &b));
	b.inode = 8;
	b.birth_s = 9;
	T_TRUE(identity_equal(&a, &b)); /* equal handles: the same object */
	b = a;
	b.handle[1] = 3;
	T_TRUE(!identity_equal(&a, &b)); /* different handles: different objects */
	b.handle_n = 0;
	T_TRUE(identity_equal(&a, &b)); /* one has no handle: inode and time of birth decide */
	b.birth_ns = 7;
	T_TRUE(!identity_equal(&a, &b));
	b.has_birth = false;
	T_TRUE(identity_equal(&a, &b)); /* no birth, as on an overlay: the inode decides */
	b.inode = 8;
	T_TRUE(!identity_equal(&a, &b));
	b = a;
	b.known = false;
	T_TRUE(!identity_equal(&a, &b) && !identity_equal(&b, &a));
}

static void json(void)
{
	static const char *const bad[] = {
		"7",
		"{\"inode\":\"7\"}",
		"{\"of\":\"self\"}",
		"{\"inode\":7,\"of\":\"self\"}",
		"{\"inode\":\"-7\",\"of\":\"self\"}",
		"{\"inode\":\"7\",\"of\":\"child\"}",
		"{\"inode\":\"7\",\"of\":\"self\",\"handle\":\"\"}",
		"{\"inode\":\"7\",\"of\":\"self\",\"handle\":\"0\"}",
		"{\"inode\":\"7\",\"of\":\"self\",\"handle\":\"0G\"}",
		"{\"inode\":\"7\",\"of\":\"self\",\"birth_ns\":1000000000}",
	};
	AUTO_BUF b = BUF_INIT(4096);
	struct identity was, is;
	struct json_writer w;
	struct json_doc *doc;
	char handle[400];
	AUTO_FD fd = open(top, O_PATH | O_CLOEXEC);

	T_INT(identity_take(fd, &was), 0);
	was.of_parent = true;
	was.inode = UINT64_MAX;
	json_writer_init(&w, &b, 0);
	identity_write_json(&was, &w);
	T_INT(json_parse(buf_str(&b), b.n, &doc, &e), 0);
	T_INT(identity_read_json(json_root(doc), "x", &is, &e), 0);
	T_INT(memcmp(&is, &was, sizeof(is)), 0);
	json_free(doc);
	T_INT(identity_read_json(NULL, "x", &is, &e), 0);
	T_TRUE(!is.known);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		T_INT(json_parse(bad[i], strlen(bad[i]), &doc, &e), 0);
		T_INT(identity_read_json(json_root(doc), "x", &is, &e), -1);
		T_TRUE(!is.known);
		json_free(doc);
	}
	snprintf(handle, sizeof(handle), "{\"inode\":\"7\",\"of\":\"self\",\"handle\":\"%0258d\"}",
		 0);
	T_INT(json_parse(handle, strlen(handle), &doc, &e), 0);
	T_INT(identity_read_json(json_root(doc), "x", &is, &e), -1); /* longer than any handle */
	json_free(doc);
}

static int hold(const char *path, char **ret_path, struct identity *ret)
{
	AUTO_FD fd = -1;

	return identity_hold("source", path, ret_path, ret, &fd, &e);
}

static int again(const char *path, struct identity *id)
{
	AUTO_FD fd = -1;

	return identity_open(path, id, &fd, &e);
}

static void directories(void)
{
	AUTO_FREE char *dir = in_top("dir"), *moved = in_top("moved"), *link = in_top("link");
	AUTO_FREE char *real = NULL;
	struct identity id, unknown = { 0 };

	T_INT(mkdir(dir, 0755), 0);
	T_INT(symlink("dir", link), 0);
	T_INT(hold(link, &real, &id), 0);
	T_STR(real, dir);
	T_TRUE(!id.of_parent);
	T_INT(again(real, &id), 0);
	T_INT(again(link, &id), -1); /* a path with a link is never canonical */
	T_INT(rename(dir, moved), 0);
	T_INT(again(real, &id), -1);
	T_INT(e.code, ERR_NOT_FOUND);
	T_INT(mkdir(dir, 0755), 0);
	T_INT(again(real, &id), -1);
	T_INT(e.code, ERR_DENIED);
	T_TRUE(strstr(e.msg, "another directory") != NULL);
	T_INT(rmdir(dir), 0);
	T_INT(symlink("moved", dir), 0);
	T_INT(again(real, &id), -1);
	T_TRUE(strstr(e.msg, "symbolic link") != NULL);
	/* an older record has no identity; its path must not lead through a link either */
	T_INT(again(real, &unknown), -1);
	T_INT(unlink(dir), 0);
	T_INT(rename(moved, dir), 0);
	T_INT(again(real, &unknown), 0);
	T_TRUE(identity_equal(&unknown, &id));
	T_INT(unlink(link) | rmdir(dir), 0);
}

static void make(const char *path)
{
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	T_TRUE(fd >= 0);
}

static void files(void)
{
	AUTO_FREE char *dir = in_top("dir"), *file = in_top("dir/file"), *new = in_top("dir/new");
	AUTO_FREE char *real = NULL, *other = in_top("other"), *inside = in_top("other/file");
	struct identity id, unknown = { 0 };

	T_INT(mkdir(dir, 0755) | mkdir(other, 0755), 0);
	make(file);
	make(inside);
	T_INT(hold(file, &real, &id), 0);
	T_TRUE(id.of_parent);
	make(new);
	T_INT(rename(new, file), 0);
	T_INT(again(real, &id), 0); /* an editor saves a file in this way */
	T_INT(again(inside, &id), -1);
	T_TRUE(strstr(e.msg, "another directory") != NULL);
	T_INT(unlink(file), 0);
	T_INT(symlink("/etc/passwd", file), 0);
	T_INT(again(real, &id), -1);
	T_TRUE(strstr(e.msg, "symbolic link") != NULL);
	T_INT(again(real, &unknown), -1);
	T_INT(unlink(file), 0);
	T_INT(mkdir(file, 0755), 0);
	T_INT(again(real, &id), -1);
	T_TRUE(strstr(e.msg, "regular file") != NULL);
	T_INT(rmdir(file), 0);
	T_INT(mkfifo(file, 0644), 0);
	T_INT(hold(file, &real, &id), -1);
	T_INT(e.code, ERR_INVALID);
	T_INT(unlink(file) | unlink(inside) | rmdir(dir) | rmdir(other), 0);
}

int main(void)
{
	T_TRUE(mkdtemp(top) != NULL);
	T_RUN(equal);
	T_RUN(json);
	T_RUN(directories);
	T_RUN(files);
	T_INT(rmdir(top), 0);
	return t_end();
}
