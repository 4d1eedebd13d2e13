/* Tests how the surveyor counts the size of a file tree. */
#include "supervisor/survey.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "t.h"

static char dir[] = "/tmp/supervisor-survey-XXXXXX";
static struct survey_room room;
static int at;

static void make(const char *name, size_t bytes)
{
	static const char data[65536];
	AUTO_FD fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	T_TRUE(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && fsync(fd) == 0);
}

static struct survey take(const char *name, uint64_t most)
{
	struct survey s = { 0 };

	survey_tree(at, name, most, &room, &s);
	return s;
}

static void test_files_and_directories(void)
{
	struct survey empty, s;

	T_INT(mkdirat(at, "t", 0700), 0);
	empty = take("t", 100);
	T_INT(empty.files, 1);
	make("t/a", 65536);
	T_INT(mkdirat(at, "t/d", 0700), 0);
	make("t/d/b", 65536);
	T_INT(symlinkat("/", at, "t/link"), 0);
	s = take("t", 100);
	T_INT(s.files, 5);
	T_TRUE(s.bytes >= empty.bytes + 131072);
	T_TRUE(s.bytes < empty.bytes + 131072 + 65536);
	T_INT(take("nothing", 100).files, 0);
	T_INT(take("t/a", 100).files, 1);
	T_INT(erase_tree(at, "t"), 0);
}

static void test_names_of_one_file_count_it_once(void)
{
	char name[32];
	uint64_t before;

	T_INT(mkdirat(at, "t", 0700), 0);
	make("t/a", 65536);
	before = take("t", 100).bytes;
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "t/l%d", i);
		T_INT(linkat(at, "t/a", at, name, 0), 0);
	}
	T_INT(take("t", 100).files, 9);
	T_INT(take("t", 100).bytes, before);
	T_INT(erase_tree(at, "t"), 0);
}

static void test_holes_take_nothing(void)
{
	struct survey before;
	AUTO_FD fd = -1;

	T_INT(mkdirat(at, "t", 0700), 0);
	before = take("t", 100);
	fd = openat(at, "t/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	T_INT(ftruncate(fd, 1ll << 36), 0);
	T_INT(take("t", 100).bytes, before.bytes);
	T_INT(erase_tree(at, "t"), 0);
}

static void test_more_files_than_allowed(void)
{
	char name[32];

	T_INT(mkdirat(at, "t", 0700), 0);
	for (int i = 0; i < 400; i++) { /* more than one chunk of names */
		snprintf(name, sizeof(name), "t/file-with-a-longer-name-%d", i);
		make(name, 0);
	}
	T_INT(take("t", 401).files, 401);
	T_TRUE(take("t", 400).files == SURVEY_TOO_MANY);
	T_TRUE(take("t", 5).files == SURVEY_TOO_MANY);
	T_INT(erase_tree(at, "t"), 0);
}

/* If one tree has too many files, counting a second tree must not hide this. */
static void test_too_many_files_stay_too_many(void)
{
	struct survey s = { 0 };

	T_INT(mkdirat(at, "t", 0700), 0);
	make("t/a", 0);
	survey_tree(at, "t", 1, &room, &s);
	survey_tree(at, "t", 1, &room, &s);
	T_TRUE(s.files == SURVEY_TOO_MANY);
	T_INT(erase_tree(at, "t"), 0);
}

static void test_a_tree_that_is_too_deep(void)
{
	AUTO_FD fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < SURVEY_DEPTH_MAX + 2; i++) {
		int next;

		T_INT(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
		if (i == SURVEY_DEPTH_MAX - 1)
			T_INT(take("d", 10000).files, SURVEY_DEPTH_MAX);
	}
	T_TRUE(take("d", 10000).files == SURVEY_TOO_MANY);
	T_INT(erase_tree(at, "d"), 0);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_RUN(test_files_and_directories);
	T_RUN(test_names_of_one_file_count_it_once);
	T_RUN(test_holes_take_nothing);
	T_RUN(test_more_files_than_allowed);
	T_RUN(test_too_many_files_stay_too_many);
	T_RUN(test_a_tree_that_is_too_deep);
	close(at);
	rmdir(dir);
	return t_end();
}
