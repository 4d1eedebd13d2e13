/* Reading directories. */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the directory PATH below DIRFD. The path "." is DIRFD itself. A link at the end of PATH is
 * followed. After a failure, returns NULL and sets errno. */
DIR *dir_open(int dirfd, const char *path);
/* Returns the next entry other than "." and "..", or NULL after the last one. D may be NULL. */
const struct dirent *dir_next(DIR *d);

/* Returns the disk space of everything below DIR, which may be an O_PATH descriptor. If a file
 * has N names, each name counts as 1/N of the file. What is in a directory that cannot be read, or
 * that is more than 256 levels deep, is not counted. */
uint64_t dir_disk_bytes(int dir);

static inline void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
	*d = NULL;
}

#define AUTO_DIR __attribute__((cleanup(dir_closep))) DIR *
