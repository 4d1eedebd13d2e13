#include "host/hugepages.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/dir.h"

#define SIZES "/sys/kernel/mm/hugepages"

/* Returns true if the file FILE of the page size DIR holds a number other than 0. */
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
	AUTO_DIR list = dir_open(AT_FDCWD, SIZES);
	const struct dirent *d;
	bool some = false;

	while (!some && (d = dir_next(list)))
		some = is_above_zero(dirfd(list), d->d_name, "nr_hugepages") ||
		       is_above_zero(dirfd(list), d->d_name, "nr_overcommit_hugepages");
	return some;
}
