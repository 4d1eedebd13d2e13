#include "base/layered.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compat.h"

static int open_below(int layer, const char *path, unsigned flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return sys_openat2(layer, path, &how);
}

/* Returns true if LAYER has a whiteout `.wh.NAME` for PATH. fuse-overlayfs makes such files if it
 * cannot make device nodes. */
static bool hidden_by_name(int layer, const char *path)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *name =
		slash ? xasprintf("%.*s/.wh.%s", (int)(slash - path), path, slash + 1)
		      : xasprintf(".wh.%s", path);
	AUTO_FD fd = open_below(layer, name, O_PATH | O_NOFOLLOW);

	return fd >= 0;
}

int layered_open_in(int layer, bool named, const char *path, struct stat *ret, int *ret_fd)
{
	AUTO_FD fd = open_below(layer, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return named && hidden_by_name(layer, path) ? -1 : 0;
	/* Either the name or a directory above it is in this layer. ENXIO means a whiteout, which
	 * is a device, or a socket. ENOTDIR means that a directory above is a whiteout or a
	 * file. */
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))
		return -1;
	*ret_fd = fd_take(&fd);
	return 1;
}

int layered_open(const int *layer, size_t n, bool named, const char *path, struct stat *ret)
{
	int found = 0, fd = -1;

	for (size_t i = n; found == 0 && i-- > 0;)
		found = layered_open_in(layer[i], named, path, ret, &fd);
	return fd;
}
