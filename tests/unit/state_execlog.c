/* Writes logs in temporary directories. A log file that was replaced must be opened again, and a
 * log file must stay bounded. */
#include "state/execlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "t.h"

#define CHUNK_BYTES (64u << 10) /* the most that one read of a command's output gives */
#define EXCESS_BYTES (1u << 20) /* by how much a file may be larger than EXECLOG_MAX_BYTES */
#define ENTRIES 64 /* as JSON, 64 chunks are 25 MB: enough to rename the log file twice */

static off_t size_of(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) < 0 ? -1 : st.st_size;
}

/* --- a log file that was replaced ------------------------------------------------------------- */

static enum { FSTAT_WORKS, FSTAT_FAILS, FSTAT_OTHER_DEVICE } fstat_mode;
static struct stat fstat_gives;

/* Replaces the function of the C library for the whole program. What a failed fstat() leaves in
 * *RET is undefined. With FSTAT_FAILS this function leaves FSTAT_GIVES. With FSTAT_OTHER_DEVICE it
 * succeeds, and gives FSTAT_GIVES with another device number. */
int fstat(int fd, struct stat *ret)
{
	if (fstat_mode == FSTAT_WORKS)
		return fstatat(fd, "", ret, AT_EMPTY_PATH);
	*ret = fstat_gives;
	if (fstat_mode == FSTAT_FAILS) {
		errno = ESTALE;
		return -1;
	}
	ret->st_dev++;
	return 0;
}

/* Another process replaces the log file. The next check must open the new file, even if fstat() on
 * the old file fails or gives the inode number of the new file. */
static void a_replaced_file_is_opened_again(void)
{
	char path[] = "/tmp/cordon-unit-XXXXXX";
	AUTO_FD parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD dir = -1;
	struct execlog l;

	T_TRUE(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	execlog_open(&l, dir);
	execlog_add(&l, 1, LOG_STDOUT, "a", 1);
	for (fstat_mode = FSTAT_FAILS; fstat_mode <= FSTAT_OTHER_DEVICE; fstat_mode++) {
		AUTO_FD fresh = -1;

		T_INT(renameat(dir, "logs/" EXECLOG_FILE, dir, "logs/old"), 0);
		fresh = openat(dir, "logs/" EXECLOG_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		T_INT(fstatat(fresh, "", &fstat_gives, AT_EMPTY_PATH), 0);
		l.until_check = 0;
		execlog_add(&l, 1, LOG_STDOUT, "b", 1);
		T_TRUE(size_of(dir, "logs/" EXECLOG_FILE) > 0);
	}
	fstat_mode = FSTAT_WORKS;
	execlog_close(&l);
	T_INT(erase_tree(parent, path + strlen("/tmp/")), 0);
}

/* --- size ------------------------------------------------------------------------------------ */

static void large_entries_do_not_pass_the_bound(void)
{
	char path[] = "/tmp/cordon-unit-XXXXXX";
	static char chunk[CHUNK_BYTES];
	struct execlog l;
	off_t largest = 0;
	AUTO_FD parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD dir = -1;

	T_TRUE(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(chunk, 1, sizeof(chunk)); /* JSON needs six bytes for each of these bytes */
	execlog_open(&l, dir);
	for (unsigned i = 0; i < ENTRIES; i++) {
		off_t size;

		execlog_add(&l, 1, LOG_STDOUT, chunk, sizeof(chunk));
		size = size_of(dir, "logs/" EXECLOG_FILE);
		largest = size > largest ? size : largest;
	}
	execlog_close(&l);
	T_TRUE(largest > (off_t)EXECLOG_MAX_BYTES);
	T_TRUE(largest < (off_t)(EXECLOG_MAX_BYTES + EXCESS_BYTES));
	T_TRUE(size_of(dir, "logs/" EXECLOG_FILE ".2") > 0);
	T_INT(erase_tree(parent, path + strlen("/tmp/")), 0);
}

int main(void)
{
	T_RUN(a_replaced_file_is_opened_again);
	T_RUN(large_entries_do_not_pass_the_bound);
	return t_end();
}
