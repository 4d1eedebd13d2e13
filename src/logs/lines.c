#include "logs/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "logs/entry.h"

#define CHUNK_BYTES (256u << 10)

void lines_init(struct lines *l, int fd, uint64_t offset)
{
	*l = (struct lines){ .fd = fd, .at = offset };
	buf_init(&l->in, ENTRY_LINE_MAX_BYTES + CHUNK_BYTES);
}

void lines_done(struct lines *l)
{
	buf_done(&l->in);
}

uint64_t lines_offset(const struct lines *l)
{
	return l->at + l->given;
}

/* Forgets the first N bytes of the input. */
static void forget(struct lines *l, size_t n)
{
	buf_drop(&l->in, n);
	l->at += n;
	l->given = 0;
}

/* Reads more of the file. Returns the number of bytes read, 0 at the end of the file, or -errno. */
static ssize_t more(struct lines *l)
{
	void *room = buf_room(&l->in, CHUNK_BYTES);
	ssize_t n;

	if (!room)
		return -ENOMEM;
	do
		n = pread(l->fd, room, CHUNK_BYTES, (off_t)(l->at + l->in.n));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->in.n += (size_t)n;
	return n;
}

int lines_next(struct lines *l, struct str *ret, uint64_t *ret_offset)
{
	for (;;) {
		size_t left = l->in.n - l->given;
		const char *start = left ? l->in.p + l->given : NULL;
		const char *feed = left ? memchr(start, '\n', left) : NULL;
		ssize_t n;

		if (feed) {
			*ret = (struct str){ start, (size_t)(feed - start) };
			*ret_offset = lines_offset(l);
			l->given += ret->n + 1;
			if (!l->skipping)
				return 1;
			l->skipping = false;
			continue;
		}
		forget(l, l->given);
		if (l->in.n > ENTRY_LINE_MAX_BYTES) {
			forget(l, l->in.n);
			l->skipping = true;
		}
		n = more(l);
		if (n <= 0)
			return (int)n;
	}
}
