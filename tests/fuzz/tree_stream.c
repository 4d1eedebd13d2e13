/* Builds a tree from any stream of well-formed records, as a hijacked pid 1 could send it. No file
 * may get a set-id bit, no link may point out of the top directory, and files beside this directory
 * must not change. Each byte of the input becomes one record, or the three records of a whole file.
 * Names and targets come from a small set, so that records often concern the same files. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "tree/build.h"

#define PLACE "/dev/shm"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "a", "b", "c", "d" };
static const char *const targets[] = { "a",       "..",     "../b", "../../beside",
				       "a/../..", "/top/a", "/etc", "." };

static void put(struct buf *b, uint8_t op)
{
	const char *name = names[op >> 3 & 3];

	switch (op & 7) {
	case 0:
		file_put_dir(b, 07755, name);
		break;
	case 1:
		file_put_file(b, 06755, name);
		break;
	case 2:
		file_put_end(b);
		break;
	case 3:
		file_put_link(b, name, targets[op >> 5 & 7]);
		break;
	case 4:
		file_put_shared(b);
		break;
	case 5:
		file_put_same(b, op >> 5 & 7, name);
		break;
	case 6:
		file_put_data(b, "x", 1);
		break;
	case 7: /* a whole file in three records */
		file_put_file(b, 0644, name);
		file_put_shared(b);
		file_put_end(b);
		break;
	}
}

static void pass(void *arg, enum file_record_type type, const char *text)
{
}

/* Checks the target of a link: at most DEPTH times "..", then names. */
static void check_link(int dir, const char *name, unsigned depth)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	bool down = false;

	target[n > 0 ? n : 0] = '\0';
	if (n <= 0 || target[0] == '/')
		abort();
	for (const char *p = target; *p; p += strspn(p, "/")) {
		size_t k = strcspn(p, "/");

		if (k == 2 && memcmp(p, "..", 2) == 0) {
			if (down || depth-- == 0)
				abort();
		} else {
			down = true;
		}
		p += k;
	}
}

static void check_tree(int fd, unsigned depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;

	while ((entry = readdir(d))) {
		const char *name = entry->d_name;
		struct stat st;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			abort();
		if (S_ISLNK(st.st_mode))
			check_link(dirfd(d), name, depth);
		else if (S_ISDIR(st.st_mode))
			check_tree(openat(dirfd(d), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				   depth + 1);
		else if (!S_ISREG(st.st_mode) || st.st_mode & (S_ISUID | S_ISGID))
			abort();
	}
	closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = PLACE "/cordon-fuzz-XXXXXX";
	AUTO_FD place = open(PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_BUF stream = BUF_INIT(1 << 20);
	AUTO_FREE char *to = NULL;
	AUTO_FREE char *beside = NULL;
	struct tree_build *b;
	struct stat st;
	struct err e;
	int top;

	if (size > 64 || !mkdtemp(path))
		return 0;
	to = xasprintf("%s/top", path);
	beside = xasprintf("%s/beside", path);
	if (close(open(beside, O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
		abort();
	file_put_dir(&stream, 0755, "its own name");
	for (size_t i = 0; i < size; i++)
		put(&stream, data[i]);
	b = tree_build_new(to, TREE_OUTSIDE, pass, NULL);
	b->name = "top";
	b->source = "/top";
	/* most streams are refused at some point, so a failure is no bug */
	IGNORE(tree_build_feed(b, stream.p, stream.n, &e));
	tree_build_free(b);
	top = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || stat(beside, &st) < 0 || st.st_size != 0 || st.st_nlink != 1)
		abort();
	check_tree(top, 0);
	if (erase_tree(place, path + sizeof(PLACE)) < 0)
		abort();
	return 0;
}
