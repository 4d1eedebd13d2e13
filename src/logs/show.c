/*
 * Shows the log of a sandbox: first the entries that it has, then with --follow each new entry.
 * Between new entries, --follow sleeps until an event comes. inotify on the directory of the logs
 * reports appended log entries and rotations. inotify on the sandbox's lock file reports the end of
 * the sandbox. The supervisor holds the lock file open for writing, and the kernel closes it even
 * if the supervisor is killed. The kernel reports the close a moment before it drops the lock. So
 * after the lock file was closed we look at the lock a few more times.
 */
#include "logs/show.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "logs/history.h"
#include "logs/lines.h"
#include "state/boot_error.h"
#include "state/record.h"
#include "state/record_lock.h"

#define FLUSH_BYTES (256u << 10)
/* room for one rendered entry, and for up to FLUSH_BYTES of entries that are not written yet */
#define OUT_MAX_BYTES (16u << 20)
#define LOOK_AGAIN_MS 20
#define LOOK_AGAIN_TIMES 25 /* half a second for the kernel to drop a lock */

struct out {
	struct show *show;
	struct buf b;
};

/* Writes the output so far to stdout. Returns 0, 1 when the reader of our output left, or -1. */
static int flush(struct out *o, struct err *e)
{
	int r = buf_failed(&o->b) ? -EFBIG : io_write_all(STDOUT_FILENO, buf_str(&o->b), o->b.n);

	buf_clear(&o->b);
	if (r == -EPIPE)
		return 1;
	return r < 0 ? err_sys(e, -r, "write to stdout") : 0;
}

static int put(struct out *o, const struct entry *x, struct err *e)
{
	render_entry(&o->b, &o->show->render, x);
	return o->b.n >= FLUSH_BYTES ? flush(o, e) : 0;
}

static int show_history(struct out *o, const struct history *h, struct err *e)
{
	AUTO_BUF bytes = BUF_INIT(ENTRY_LINE_MAX_BYTES + 1);
	size_t n = history_count(h);
	size_t i = n > o->show->tail ? n - (size_t)o->show->tail : 0;
	struct entry x;
	int r = 0;

	entry_init(&x);
	for (; r == 0 && i < n; i++)
		if (history_get(h, i, &bytes, &x) == 0) /* leaves out a damaged entry */
			r = put(o, &x, e);
	entry_done(&x);
	return r == 0 ? flush(o, e) : r;
}

/* If the last start failed, adds the reason to the output. This text comes before all entries. */
static void add_boot_error(struct out *o, int record_dir)
{
	AUTO_BUF text = BUF_INIT(65536), line = BUF_INIT(8 * 65536);
	AUTO_JSON doc = NULL;
	const struct json_value *v;
	struct json_writer w;
	struct err ignored;

	if (io_read_file(record_dir, BOOT_ERROR_FILE, &text) < 0 ||
	    json_parse(buf_str(&text), text.n, &doc, &ignored) < 0)
		return;
	v = json_root(doc);
	if (!o->show->render.json) {
		buf_add_str(&o->b, "--- boot failed: ");
		if (o->show->render.bytes == RENDER_TERMINAL)
			buf_add_clean(&o->b, json_get_str(v, "message", "?"));
		else
			buf_add_str(&o->b, json_get_str(v, "message", "?"));
		buf_add_str(&o->b, " ---\n");
		return;
	}
	json_writer_init(&w, &line, 0);
	json_begin_object(&w);
	json_key_str(&w, "d", buf_str(&text));
	json_key_null(&w, "e");
	json_key_null(&w, "id");
	json_key_str(&w, "s", "boot-error");
	json_key_str(&w, "t", json_get_str(v, "t", ""));
	json_end_object(&w);
	render_json_line(&o->b, &o->show->render, (struct str){ line.p, line.n });
}

/* --- following ------------------------------------------------------------------------------- */

struct follow {
	struct out *out;
	int record_dir, logs_dir; /* borrowed */
	int events;
	int lock_watch;
	/* exec.log, and the file that had this name before: a writer may still write to the renamed
	 * file */
	struct lines now, before;
	unsigned look_again;
};

static int drain(struct follow *f, struct lines *l, struct err *e)
{
	struct out *o = f->out;
	struct entry x;
	struct str line;
	uint64_t offset;
	int r = 0, got = 0;

	if (l->fd < 0)
		return 0;
	entry_init(&x);
	while (r == 0 && (got = lines_next(l, &line, &offset)) > 0) {
		if (entry_parse(&x, line) < 0)
			continue;
		r = filter_passes(&o->show->filter, &x, e);
		if (r > 0)
			r = put(o, &x, e);
	}
	entry_done(&x);
	return r == 0 && got < 0 ? err_sys(e, -got, "read the log") : r;
}

/* After a rotation, opens the new file. */
static void reopen(struct follow *f)
{
	struct stat mine, named;

	if (fstatat(f->logs_dir, EXECLOG_FILE, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (f->now.fd >= 0 && fstat(f->now.fd, &mine) == 0 && mine.st_ino == named.st_ino)
		return;
	fd_closep(&f->before.fd);
	lines_done(&f->before);
	f->before = f->now;
	lines_init(
		&f->now,
		openat(f->logs_dir, EXECLOG_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
		0);
}

/* Shows all entries so far. Returns 0, 1 when the reader of our output left, or -1. */
static int catch_up(struct follow *f, struct err *e)
{
	int r = drain(f, &f->before, e);

	if (r == 0)
		r = drain(f, &f->now, e);
	if (r == 0) {
		reopen(f);
		r = drain(f, &f->now, e);
	}
	return r == 0 ? flush(f->out, e) : r;
}

static void take_events(struct follow *f)
{
	char chunk[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(f->events, chunk, sizeof(chunk));

	for (char *p = chunk; n > 0 && p < chunk + n;) {
		const struct inotify_event *event = (const struct inotify_event *)p;

		if (event->wd == f->lock_watch)
			f->look_again = LOOK_AGAIN_TIMES;
		p += sizeof(*event) + event->len;
	}
}

/* Waits for an event. Returns 0 if the caller shall look at the log again. Returns 1 if --follow
 * shall end: stop_fd is readable, the reader of our output left, or poll() failed. */
static int wait_for_more(struct follow *f)
{
	struct pollfd p[] = { { .fd = f->events, .events = POLLIN },
			      { .fd = f->out->show->stop_fd, .events = POLLIN },
			      { .fd = STDOUT_FILENO, .events = 0 } };

	if (poll(p, ARRAY_SIZE(p), f->look_again ? LOOK_AGAIN_MS : -1) < 0 && errno != EINTR)
		return 1;
	if (p[1].revents || p[2].revents & (POLLERR | POLLHUP | POLLNVAL))
		return 1;
	if (f->look_again)
		f->look_again--;
	if (p[0].revents)
		take_events(f);
	return 0;
}

static int watch(struct follow *f, struct err *e)
{
	AUTO_FREE char *logs = xasprintf("/proc/self/fd/%d", f->logs_dir);
	AUTO_FREE char *lock = xasprintf("/proc/self/fd/%d/lock", f->record_dir);

	f->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->events < 0)
		return err_sys(e, errno, "watch the log");
	f->lock_watch = inotify_add_watch(f->events, lock, IN_CLOSE_WRITE | IN_DELETE_SELF);
	if (f->lock_watch < 0 ||
	    inotify_add_watch(f->events, logs, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
		return err_sys(e, errno, "watch the log");
	return 0;
}

static int follow_loop(struct follow *f, struct err *e)
{
	for (;;) {
		/* look whether the sandbox lives before reading the log: then the last reading
		 * comes after the sandbox's last output */
		bool live = record_is_live(f->record_dir) > 0;
		int r = catch_up(f, e);

		if (r != 0 || !live)
			return r;
		if (wait_for_more(f))
			return 0;
	}
}

static int follow_log(struct out *o, struct history *h, int record_dir, int logs_dir, struct err *e)
{
	struct follow f = {
		.out = o, .record_dir = record_dir, .logs_dir = logs_dir, .events = -1
	};
	int r;

	lines_init(&f.before, -1, 0);
	lines_init(&f.now, fd_take(&h->fd[HISTORY_LIVE_FILE]), h->end);
	r = watch(&f, e);
	if (r == 0)
		r = follow_loop(&f, e);
	fd_closep(&f.now.fd);
	fd_closep(&f.before.fd);
	lines_done(&f.now);
	lines_done(&f.before);
	fd_closep(&f.events);
	return r;
}

int show_logs(struct show *s, int record_dir, struct err *e)
{
	AUTO_FD logs = openat(record_dir, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct out o = { .show = s };
	struct history h;
	int r;

	if (logs < 0 && errno == ENOENT)
		return 0; /* capture is off, so there is no log */
	if (logs < 0)
		return err_sys(e, errno, "open the logs");
	buf_init(&o.b, OUT_MAX_BYTES);
	add_boot_error(&o, record_dir);
	r = history_load(&h, logs, &s->filter, e);
	if (r == 0)
		r = show_history(&o, &h, e);
	if (r == 0 && s->follow)
		r = follow_log(&o, &h, record_dir, logs, e);
	history_done(&h);
	buf_done(&o.b);
	return r < 0 ? -1 : 0;
}
