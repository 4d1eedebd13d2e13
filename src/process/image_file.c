#include "process/image_file.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "base/layered.h"

int image_file_open(const struct rootfs *r, const char *path, struct stat *ret)
{
	AUTO_FD upper = r->upper_fd < 0 ? -1
					: openat(r->upper_fd, "upper",
						 O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int fd = -1;

	if (upper >= 0 && layered_open_in(upper, r->served, path, ret, &fd) != 0)
		return fd;
	return layered_open(r->layer_fd, r->n_layers, r->served, path, ret);
}
