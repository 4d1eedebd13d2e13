/*
 * The attacker chooses the depth of the tree, so this does not recurse: it walks down by name and
 * up by "..". Nobody can move ".." under us, because nobody else can reach the directory any more
 * (the sandbox is dead and its directory is below a 0700 home). Two commands may delete the same
 * tree: an entry that is already gone is no error.
 */
#include "base/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

#define ROUNDS_MAX 16 /* a dying process may still write into the tree: start again so often */

/* Opens a directory to empty it, after adding the owner's permissions if they are missing. Refuses
 * a mount point: the mounted file system is not ours to empty. */
static int open_dir(int parent, const char *name)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve =
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	int fd = sys_openat2(parent, name, &how);

	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
		fd = sys_openat2(parent, name, &how);
	return fd;
}

/* Deletes the plain entries of FD. Puts the name of one non-empty sub-directory in SUB. */
static int empty_one(int fd, char sub[256], bool *ret_descend)
{
	DIR *d = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	struct dirent *entry;
	int first = d ? 0 : -errno;

	*ret_descend = false;
	if (d)
		rewinddir(d);
	while (d && (entry = readdir(d))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
			continue;
		if (errno == EACCES && fchmod(fd, 0700) == 0 && unlinkat(fd, name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM && errno != EACCES) {
			first = first ? first : -errno;
			continue;
		}
		if (unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST) {
			first = first ? first : -errno;
			continue;
		}
		memcpy(sub, name, strnlen(name, 255) + 1); /* d_name holds at most 255 bytes */
		*ret_descend = true;
		break;
	}
	if (d)
		closedir(d);
	return first;
}

/* A rename can replace an empty directory by another one. Its name then leads to something that is
 * not ours. */
static bool is_gone(int fd)
{
	int saved = errno;
	struct stat st;
	bool gone = fstat(fd, &st) == 0 && st.st_nlink == 0;

	errno = saved;
	return gone;
}

int erase_tree(int dirfd, const char *name)
{
	AUTO_FD at = -1;
	unsigned depth = 0, rounds = 0;
	char sub[256];
	bool descend;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	at = open_dir(dirfd, name);
	if (at < 0)
		return errno == ENOENT ? 0 : -errno;
	for (;;) {
		int r = empty_one(at, sub, &descend);
		int next;

		if (descend) {
			next = open_dir(at, sub);
			if (next < 0 && errno == ENOENT)
				continue;
			if (next < 0)
				return -errno;
			depth++;
		} else if (r < 0) {
			return r; /* an entry that stays keeps all directories above it */
		} else if (depth == 0) {
			if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ||
			    is_gone(at))
				return 0;
			if (errno != ENOTEMPTY || ++rounds == ROUNDS_MAX)
				return -errno;
			continue; /* a dying process wrote another entry meanwhile */
		} else {
			next = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (next < 0)
				return -errno;
			depth--;
		}
		close(at);
		at = next;
	}
}
