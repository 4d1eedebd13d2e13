/* Writes a log in a temporary directory and checks that its file stays bounded. */
#include "state/execlog.h"

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
#define ENTRIES 64              /* as JSON, 64 chunks of control characters are 25 MB */

static off_t size_of(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) < 0 ? -1 : st.st_size;
}

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
	T_RUN(large_entries_do_not_pass_the_bound);
	return t_end();
}
