#include "supervisor/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/raw.h"

#define BLOCK_BYTES 512 /* the unit of st_blocks on every file system */

struct entry { /* a directory entry as getdents64() writes it */
	uint64_t ino;
	int64_t off;
	uint16_t length;
	uint8_t type;
	char name[];
};

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int open_directory(int dir, const char *name)
{
	return (int)RAW4(SYS_openat, dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
}

/* Counts NAME. Returns true if it is a directory. A file that has vanished is not counted. */
static bool count(int dir, const char *name, struct survey *s)
{
	struct stat st;

	if (RAW4(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	s->files++;
	s->bytes += (uint64_t)st.st_blocks * BLOCK_BYTES /
		    (S_ISDIR(st.st_mode) || st.st_nlink < 1 ? 1 : st.st_nlink);
	return S_ISDIR(st.st_mode);
}

/* Returns the next name in the directory of LEVEL, or NULL at its end or if it cannot be read. */
static const char *next_name(struct survey_room *r, unsigned level)
{
	const struct entry *d;

	if (r->level[level].at >= r->level[level].n) {
		long n = RAW3(SYS_getdents64, r->level[level].fd, r->level[level].names,
			      SURVEY_CHUNK_BYTES);

		r->level[level].at = 0;
		r->level[level].n = n > 0 ? (unsigned)n : 0;
		if (n <= 0)
			return NULL;
	}
	d = (const struct entry *)(r->level[level].names + r->level[level].at);
	r->level[level].at += d->length;
	return d->name;
}

/* Opens the directory NAME as the next LEVEL. Returns false if it cannot be opened. If descriptors
 * run out, or if the tree has more than SURVEY_DEPTH_MAX levels, the number of files becomes
 * SURVEY_TOO_MANY. */
static bool enter(struct survey_room *r, unsigned level, int dir, const char *name,
		  struct survey *s)
{
	int fd = level == SURVEY_DEPTH_MAX ? -EMFILE : open_directory(dir, name);

	if (fd == -EMFILE)
		s->files = SURVEY_TOO_MANY;
	if (fd < 0)
		return false;
	r->level[level].fd = fd;
	r->level[level].at = r->level[level].n = 0;
	return true;
}

void survey_tree(int dir, const char *name, uint64_t most, struct survey_room *room,
		 struct survey *ret)
{
	unsigned depth = 0;

	if (ret->files <= most && count(dir, name, ret) && enter(room, 0, dir, name, ret))
		depth = 1;
	while (depth > 0) {
		const char *next = ret->files > most ? NULL : next_name(room, depth - 1);
		int here = room->level[depth - 1].fd;

		if (!next) {
			RAW1(SYS_close, here);
			depth--;
		} else if (!is_dots(next) && count(here, next, ret) &&
			   enter(room, depth, here, next, ret)) {
			depth++;
		}
	}
	if (ret->files > most)
		ret->files = SURVEY_TOO_MANY;
}
