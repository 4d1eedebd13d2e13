#include "base/dir.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"

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
