/*
 * The index says where each entry of the log files is. It is sorted by time, because entries of one
 * moment may be in two files: several processes append to exec.log, and when one of them renames
 * the file, others still write to the renamed file for a while. Entries of the same time keep the
 * order of their files and lines.
 */
#include "logs/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "logs/lines.h"

#define TEXT_FILE (HISTORY_FILES - 1)

struct spot {
	uint64_t t_ns, offset;
	uint32_t length;
	uint32_t file;
};

static int open_log(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Opens the files while it holds the lock that a rotation takes. So no file is renamed meanwhile,
 * and none is read twice or missed. */
static void open_files(struct history *h, int dir)
{
	AUTO_FD lock =
		openat(dir, EXECLOG_ROTATE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char name[32];

	if (lock >= 0)
		/* a short wait: writers hold the lock only for a few renames */
		IGNORE(flock(lock, LOCK_SH));
	for (unsigned i = 0; i < EXECLOG_OLD_FILES; i++) {
		snprintf(name, sizeof(name), EXECLOG_FILE ".%u", EXECLOG_OLD_FILES - i);
		h->fd[i] = open_log(dir, name);
	}
	h->fd[HISTORY_LIVE_FILE] = open_log(dir, EXECLOG_FILE);
	h->fd[TEXT_FILE] = open_log(dir, RUNTIME_LOG_FILE);
}

static bool is_note(const struct entry *x, const char *text)
{
	return x->source == LOG_SYSTEM && x->body.n >= strlen(text) &&
	       memcmp(x->body.p, text, strlen(text)) == 0;
}

/* Each start of the sandbox numbers its commands from the beginning again. h->boot_ns separates the
 * entries of the last start from older entries, which may have the same numbers. If X says that the
 * sandbox ended or started, updates h->stop_ns and h->boot_ns. A command's first output may be
 * logged before the start itself. So h->boot_ns is the time at which the sandbox ended before its
 * last start, not the time of the start. */
static void note_boot(struct history *h, const struct entry *x)
{
	if (is_note(x, "--- sandbox stopped") || is_note(x, "--- sandbox crashed"))
		h->stop_ns = x->t_ns;
	else if (is_note(x, "--- sandbox started"))
		h->boot_ns = h->stop_ns;
}

/* Drops the entries from before the last start. These entries are at the front, because the index
 * is sorted by time. */
static void drop_older(struct history *h)
{
	const struct spot *s = (const struct spot *)h->index.p;
	size_t n = 0;

	while (n < history_count(h) && s[n].t_ns < h->boot_ns)
		n++;
	buf_drop(&h->index, n * sizeof(*s));
}

static int index_file(struct history *h, unsigned file, const struct filter *f, struct err *e)
{
	struct lines l;
	struct entry x;
	struct str line;
	uint64_t offset;
	int r, pass = 0;

	entry_init(&x);
	lines_init(&l, h->fd[file], 0);
	while (pass >= 0 && (r = lines_next(&l, &line, &offset)) > 0) {
		if (file == TEXT_FILE)
			entry_from_text(&x, line, h->text_ns);
		else if (entry_parse(&x, line) < 0)
			continue;
		note_boot(h, &x);
		pass = filter_passes(f, &x, e);
		if (pass > 0) {
			struct spot s = { x.t_ns, offset, (uint32_t)line.n, file };

			buf_add(&h->index, &s, sizeof(s));
		}
	}
	if (file == HISTORY_LIVE_FILE)
		h->end = lines_offset(&l);
	lines_done(&l);
	entry_done(&x);
	if (pass < 0)
		return -1;
	return r < 0 ? err_sys(e, -r, "read the log") : 0;
}

static int older_first(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int history_load(struct history *h, int logs_dir, const struct filter *f, struct err *e)
{
	struct stat st;

	*h = (struct history){ 0 };
	buf_init(&h->index, HISTORY_INDEX_MAX_BYTES);
	open_files(h, logs_dir);
	if (h->fd[TEXT_FILE] >= 0 && fstat(h->fd[TEXT_FILE], &st) == 0)
		h->text_ns =
			(uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
	for (unsigned i = 0; i < HISTORY_FILES; i++)
		if (h->fd[i] >= 0 && (i != TEXT_FILE || f->sources & 1u << LOG_SYSTEM) &&
		    index_file(h, i, f, e) < 0)
			return -1;
	if (buf_failed(&h->index))
		return err_set(e, ERR_LIMIT, "the log has more records than fit in memory");
	if (h->index.n)
		qsort(h->index.p, history_count(h), sizeof(struct spot), older_first);
	if (f->id)
		drop_older(h);
	return 0;
}

void history_done(struct history *h)
{
	for (unsigned i = 0; i < HISTORY_FILES; i++)
		fd_closep(&h->fd[i]);
	buf_done(&h->index);
}

size_t history_count(const struct history *h)
{
	return h->index.n / sizeof(struct spot);
}

int history_get(const struct history *h, size_t i, struct buf *bytes, struct entry *x)
{
	const struct spot *s = (const struct spot *)h->index.p + i;
	struct str line;
	void *room;
	ssize_t n;

	buf_clear(bytes);
	room = buf_room(bytes, s->length + 1); /* one byte more, because the length can be 0 */
	if (!room)
		return -ENOMEM;
	n = pread(h->fd[s->file], room, s->length, (off_t)s->offset);
	if (n != (ssize_t)s->length)
		return n < 0 ? -errno : -EIO;
	bytes->n = s->length;
	line = (struct str){ bytes->p, bytes->n };
	if (s->file != TEXT_FILE)
		return entry_parse(x, line);
	entry_from_text(x, line, h->text_ns);
	return 0;
}
