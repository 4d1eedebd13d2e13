#include "client/inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"

void inlet_done(struct inlet *i)
{
	fd_closep(&i->own);
}

bool inlet_is_null(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == 0x103);
}

static void look(struct inlet *i)
{
	struct stat st;

	if (fstat(i->fd, &st) < 0)
		return;
	i->kind = S_ISFIFO(st.st_mode)   ? INLET_PIPE
		  : S_ISSOCK(st.st_mode) ? INLET_SOCKET
					 : INLET_PLAIN;
}

ssize_t inlet_read(struct inlet *i, char *p, size_t n)
{
	ssize_t k;

	if (i->kind == INLET_UNSEEN)
		look(i);
	if (i->kind == INLET_SOCKET)
		return recv(i->fd, p, n, MSG_DONTWAIT);
	if (i->kind == INLET_PIPE) {
		k = sys_read_nowait(i->fd, p, n);
		if (k >= 0 || errno != EOPNOTSUPP)
			return k;
		/* an old kernel cannot make a single read non-blocking, so open the pipe a second
		 * time */
		i->own = io_reopen_nowait(i->fd, O_RDONLY);
		i->kind = INLET_PLAIN;
	}
	return read(i->own >= 0 ? i->own : i->fd, p, n);
}
