#include "host/hugepages.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SIZES "/sys/kernel/mm/hugepages"

/* True when the file FILE of the page size DIR holds a number other than 0. */
static bool is_above_zero(int sizes, const char *dir, const char *file)
{
	char path[320], digit = '0';
	AUTO_FD fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = openat(sizes, path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &digit, 1) == 1 && digit != '0';
}

bool hugepages_reserved(void)
{
	DIR *list = opendir(SIZES);
	struct dirent *d;
	bool some = false;

	while (list && !some && (d = readdir(list)))
		some = d->d_name[0] != '.' &&
		       (is_above_zero(dirfd(list), d->d_name, "nr_hugepages") ||
			is_above_zero(dirfd(list), d->d_name, "nr_overcommit_hugepages"));
	if (list)
		closedir(list);
	return some;
}
