#include "state/execlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

#define LINE_MAX_BYTES (1u << 20) /* enough for a chunk of 64 KiB with every byte escaped */
/* After this many entries or this many bytes, we check whether the file is full. A number of
 * entries alone is not enough, because 32 entries can be larger than the whole file may be. */
#define CHECK_ENTRIES 32
#define CHECK_BYTES (512u << 10)

static const char *const source_names[] = { "stdout", "stderr", "output", "system", "net" };

const char *execlog_source_name(enum execlog_source s)
{
	return source_names[s];
}

static int open_file(int dir)
{
	return openat(dir, EXECLOG_FILE, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);
}

void execlog_open(struct execlog *l, int record_dir)
{
	*l = (struct execlog){ .record = record_dir, .dir = -1, .fd = -1 };
	buf_init(&l->line, LINE_MAX_BYTES);
}

static void open_files(struct execlog *l)
{
	l->dir = openat(l->record, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* the first process that writes to the log, a client or the supervisor, makes the
	 * directory */
	if (l->dir < 0 && errno == ENOENT &&
	    (mkdirat(l->record, "logs", 0700) == 0 || errno == EEXIST))
		l->dir = openat(l->record, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (l->dir >= 0)
		l->fd = open_file(l->dir);
}

void execlog_close(struct execlog *l)
{
	fd_closep(&l->dir);
	fd_closep(&l->fd);
	buf_done(&l->line);
}

void execlog_rotate(int logs_dir, const char *file)
{
	AUTO_FD lock = -1;
	struct stat st;
	char from[32], to[32];

	if (fstatat(logs_dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size < EXECLOG_MAX_BYTES)
		return;
	lock = openat(logs_dir, EXECLOG_ROTATE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		/* another process holds the lock, to rotate or to read the file; the next check
		 * tries again */
		return;
	if (fstatat(logs_dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size < EXECLOG_MAX_BYTES)
		return;
	for (unsigned i = EXECLOG_OLD_FILES; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%u", file, i);
		if (i > 1)
			snprintf(from, sizeof(from), "%s.%u", file, i - 1);
		else
			snprintf(from, sizeof(from), "%s", file);
		IGNORE(renameat(logs_dir, from, logs_dir, to)); /* old files may be missing */
	}
}

/* Rotates the file if it is full. If this process or another one has rotated it, opens the new
 * file. */
static void check(struct execlog *l)
{
	struct stat mine, named;
	bool known = fstat(l->fd, &mine) == 0;

	if (known && mine.st_size >= EXECLOG_MAX_BYTES)
		execlog_rotate(l->dir, EXECLOG_FILE);
	if (known && fstatat(l->dir, EXECLOG_FILE, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    named.st_dev == mine.st_dev && named.st_ino == mine.st_ino)
		return;
	fd_closep(&l->fd);
	l->fd = open_file(l->dir);
}

void execlog_add(struct execlog *l, uint64_t id, enum execlog_source s, const void *p, size_t n)
{
	char now[CLOCK_RFC3339_BYTES];
	struct json_writer w;

	if (l->dir < 0)
		open_files(l);
	if (l->fd < 0)
		return;
	if (l->until_check == 0 || l->unchecked_bytes >= CHECK_BYTES) {
		check(l);
		l->until_check = CHECK_ENTRIES;
		l->unchecked_bytes = 0;
		if (l->fd < 0)
			return;
	}
	l->until_check--;
	clock_rfc3339_ms(clock_real_ns(), now);
	buf_clear(&l->line);
	json_writer_init(&w, &l->line, 0);
	json_begin_object(&w);
	json_key(&w, "d");
	if (utf8_valid(p, n)) {
		json_strn(&w, p, n);
		json_key_null(&w, "e");
	} else {
		AUTO_BUF b64 = BUF_INIT(LINE_MAX_BYTES);

		base64_encode(&b64, p, n);
		json_strn(&w, buf_str(&b64), b64.n);
		json_key_str(&w, "e", "b64");
	}
	json_key(&w, "id");
	if (id)
		json_uint(&w, id);
	else
		json_null(&w);
	json_key_str(&w, "s", source_names[s]);
	json_key_str(&w, "t", now);
	json_end_object(&w);
	buf_add_char(&l->line, '\n');
	/* a failed write is ignored, because a full disk must not stop the command */
	if (!buf_failed(&l->line))
		IGNORE(write(l->fd, l->line.p, l->line.n));
	l->unchecked_bytes += l->line.n;
}
