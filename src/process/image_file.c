#include "process/image_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* Returns 1 and the file, 0 if LAYER does not have the name, -1 if the name is not a regular file in LAYER. */
static int open_in(const struct rootfs *r, int layer, const char *below, const char *path,
		   struct stat *ret, int *ret_fd)
{
	AUTO_FD probe = openat(layer, below, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FD fd = probe < 0 ? -1 : open_below(probe, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, ret) < 0)
		return r->served && probe >= 0 && hidden_by_name(probe, path) ? -1 : 0;
	if (!S_ISREG(ret->st_mode))
		return -1; /* the name is a whiteout, or not a regular file */
	*ret_fd = fd_take(&fd);
	return 1;
}

int image_file_open(const struct rootfs *r, const char *path, struct stat *ret)
{
	int found = 0, fd = -1;

	if (r->upper_fd >= 0)
		found = open_in(r, r->upper_fd, "upper", path, ret, &fd);
	for (size_t i = r->n_layers; found == 0 && i-- > 0;)
		found = open_in(r, r->layer_fd[i], ".", path, ret, &fd);
	return fd;
}
