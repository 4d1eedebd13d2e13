#include "tool/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "client/sandbox.h"
#include "service/redaction.h"

#define ERRORS_FILE "service-errors.jsonl"
#define ERRORS_FILE_MAX_BYTES (4u << 20) /* enough for 50 escaped messages of 4096 characters */

/* Opens and locks the list of errors, a file in the home. */
static int open_file(int *ret, struct err *e)
{
	AUTO_HOME home = { .fd = -1 };
	int fd;

	if (home_open(&home, e) < 0)
		return -1;
	fd = openat(home.fd, ERRORS_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "open the list of errors");
	if (flock(fd, LOCK_EX) < 0) {
		close(fd);
		return err_sys(e, errno, "lock the list of errors");
	}
	*ret = fd;
	return 0;
}

static void write_record(const struct fault *f, const struct query *q, struct buf *out)
{
	AUTO_BUF id = BUF_INIT(4096), message = BUF_INIT(3 * f->n + 1);
	char when[CLOCK_RFC3339_BYTES];
	struct json_writer w;

	clock_rfc3339_ms(clock_real_ns(), when);
	query_id(q, &id);
	redaction_write((struct str){ f->text, f->n }, &message);
	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	json_key_str(&w, "timestamp", when);
	json_key_str(&w, "type", fault_class_name(f->class));
	json_key(&w, "message");
	json_strn(&w, buf_str(&message), message.n);
	json_key(&w, "query_id");
	json_strn(&w, buf_str(&id), id.n);
	json_end_object(&w);
	buf_add_char(out, '\n');
}

static size_t count_lines(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n;
}

static int add(const struct fault *f, const struct query *q, struct err *e)
{
	AUTO_BUF text = BUF_INIT(ERRORS_FILE_MAX_BYTES);
	AUTO_FD fd = -1;
	struct str kept;
	int r;

	if (open_file(&fd, e) < 0)
		return -1;
	if (io_read_to_end(fd, &text) < 0)
		buf_clear(&text); /* if the list cannot be read, begin a new list */
	write_record(f, q, &text);
	kept = (struct str){ buf_str(&text), text.n };
	while (count_lines(kept) > ERRORS_MAX)
		str_cut(&kept, '\n');
	if (lseek(fd, 0, SEEK_SET) < 0 || ftruncate(fd, 0) < 0)
		return err_sys(e, errno, "write the list of errors");
	r = io_write_all(fd, kept.p, kept.n);
	return r < 0 ? err_sys(e, -r, "write the list of errors") : 0;
}

void errors_add(const struct fault *f, const struct query *q)
{
	struct err e;

	if (add(f, q, &e) < 0)
		log_line(LOG_WARN, "%s", e.msg);
}

size_t errors_write(struct json_writer *w)
{
	AUTO_BUF text = BUF_INIT(ERRORS_FILE_MAX_BYTES);
	AUTO_FD fd = -1;
	struct err ignored;
	struct str rest, line;
	size_t n = 0;

	if (open_file(&fd, &ignored) < 0 || io_read_to_end(fd, &text) < 0)
		return 0;
	rest = (struct str){ buf_str(&text), text.n };
	while (rest.n) {
		AUTO_JSON doc = NULL;

		line = str_cut(&rest, '\n');
		if (json_parse(line.p, line.n, &doc, &ignored) < 0)
			continue;
		if (w)
			json_value_copy(w, json_root(doc));
		n++;
	}
	return n;
}
