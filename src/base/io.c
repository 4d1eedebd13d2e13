#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define IO_CHUNK_BYTES 65536
#define IO_FIRST_BYTES 4096

int io_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n > 0) {
		ssize_t k = write(fd, s, n);

		if (k < 0 && errno == EAGAIN)
			IGNORE(poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1));
		else if (k < 0 && errno != EINTR)
			return -errno;
		s += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return 0;
}

int io_read_exact(int fd, void *p, size_t n)
{
	char *s = p;

	while (n > 0) {
		ssize_t k = read(fd, s, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0)
			return -EPIPE;
		s += k;
		n -= (size_t)k;
	}
	return 0;
}

int io_read_to_end(int fd, struct buf *b)
{
	for (;;) {
		/* begin small, because most files that are read whole have one or two pages */
		size_t chunk = b->n < b->cap           ? b->cap - b->n
			       : b->n < IO_FIRST_BYTES ? IO_FIRST_BYTES
						       : IO_CHUNK_BYTES;
		size_t want = b->max - b->n < chunk ? b->max - b->n : chunk;
		char probe;
		char *room = want ? buf_room(b, want) : &probe;
		ssize_t k;

		if (!room)
			return -ENOMEM;
		k = read(fd, room, want ? want : 1);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k > 0 && !want)
			return -EFBIG;
		if (k == 0) {
			if (b->p)
				b->p[b->n] = '\0';
			return 0;
		}
		b->n += (size_t)k;
	}
}

int io_read_file(int dirfd, const char *path, struct buf *b)
{
	/* O_NONBLOCK, because an attacker may have put a FIFO at this path, and opening a FIFO
	 * would block */
	AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	/* Ask for one byte more than the file's size. If the read returns only as many bytes as
	 * the size, we know that the file has ended, and need no second read. Files of /proc
	 * report size 0, so they need io_read_to_end(). */
	if (st.st_size > 0 && st.st_size < IO_CHUNK_BYTES &&
	    (size_t)st.st_size + 1 < b->max - b->n) {
		char *room = buf_room(b, (size_t)st.st_size + 1);
		ssize_t k = room ? read(fd, room, (size_t)st.st_size + 1) : 0;

		if (room && k > 0) {
			b->n += (size_t)k;
			b->p[b->n] = '\0';
			if (k <= st.st_size)
				return 0;
		}
	}
	return io_read_to_end(fd, b);
}

int io_replace_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode)
{
	AUTO_FREE char *temp = NULL;
	AUTO_FD fd = -1;
	unsigned long tag;
	int r;

	if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
		return -errno;
	temp = xasprintf("%s.%lx.tmp", path, tag);
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, p, n);
	if (r == 0 && renameat(dirfd, temp, dirfd, path) < 0)
		r = -errno;
	if (r < 0)
		IGNORE(unlinkat(dirfd, temp, 0)); /* R already holds the error */
	return r;
}

int io_write_file(int dirfd, const char *path, const char *s)
{
	AUTO_FD fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(s);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, s, n);
	if (written < 0)
		return -errno;
	return (size_t)written == n ? 0 : -EIO;
}

int io_reopen_nowait(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_NONBLOCK | O_CLOEXEC);
}
