#include "base/dir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define DEPTH_MAX 256u /* how deep dir_disk_bytes() counts; each level costs a descriptor */

DIR *dir_open(int dirfd, const char *path)
{
	AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		fd = -1; /* D owns the descriptor now */
	return d;
}

const struct dirent *dir_next(DIR *d)
{
	const struct dirent *entry;

	do
		entry = d ? readdir(d) : NULL;
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

static uint64_t count_bytes(int dir, unsigned depth)
{
	AUTO_DIR d = dir_open(dir, ".");
	const struct dirent *entry;
	uint64_t sum = 0;

	while ((entry = dir_next(d))) {
		AUTO_FD below = -1;
		struct stat st;

		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		sum += (uint64_t)st.st_blocks * 512 /
		       (st.st_nlink && !S_ISDIR(st.st_mode) ? st.st_nlink : 1);
		if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
			continue;
		below = openat(dir, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		sum += count_bytes(below, depth + 1);
	}
	return sum;
}

uint64_t dir_disk_bytes(int dir)
{
	return count_bytes(dir, 0);
}
