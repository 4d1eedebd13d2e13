#include "store/stage.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "store/inflate.h"
#include "store/worker.h"

#define READ_BLOCK_BYTES (128u << 10)

struct stage {
	struct archive *a;
	struct json_writer *reply;
	uint64_t n_bytes;
	unsigned n_files;
};

static int archive_err(struct stage *s, const char *what, struct err *e)
{
	const char *why = archive_error_string(s->a);

	return err_set(e, ERR_INVALID, "%s: %s", what, why ? why : "damaged data");
}

static int check_size(struct stage *s, size_t n, struct err *e)
{
	uint64_t packed = (uint64_t)archive_filter_bytes(s->a, -1);

	s->n_bytes += n;
	if (s->n_bytes > STAGE_BYTES_MAX ||
	    s->n_bytes > LAYER_RATIO_FREE_BYTES + packed * LAYER_RATIO_MAX)
		return err_set(e, ERR_LIMIT,
			       "archive grows beyond %llu MiB, more than its size can "
			       "honestly hold",
			       (unsigned long long)(s->n_bytes >> 20));
	return 0;
}

static int write_file(struct stage *s, const char *name, struct err *e)
{
	char number[16];
	AUTO_FD fd = -1;

	snprintf(number, sizeof(number), "%u", s->n_files);
	fd = openat(WORKER_DIR_FD, number, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, errno, "make a file for '%.200s'", name);
	for (;;) {
		const void *block;
		la_int64_t at;
		size_t n;
		int r = archive_read_data_block(s->a, &block, &n, &at);

		if (r == ARCHIVE_EOF)
			return 0;
		if (r < ARCHIVE_WARN)
			return archive_err(s, "read the archive", e);
		if (check_size(s, n, e) < 0)
			return -1;
		if (lseek(fd, at, SEEK_SET) < 0)
			return err_sys(e, errno, "write '%.200s'", name);
		r = io_write_all(fd, block, n);
		if (r < 0)
			return err_sys(e, -r, "write '%.200s'", name);
	}
}

static int stage_entry(struct stage *s, struct archive_entry *entry, struct err *e)
{
	const char *name = archive_entry_pathname(entry);
	const char *hard = archive_entry_hardlink(entry);
	const char *link = hard ? hard : archive_entry_symlink(entry);

	if (!name || strlen(name) > STAGE_NAME_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "archive has a name of more than %u bytes",
			       STAGE_NAME_MAX_BYTES);
	if (!link && archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	if (s->n_files == STAGE_FILES_MAX)
		return err_set(e, ERR_LIMIT, "archive has more than %u files", STAGE_FILES_MAX);
	if (starts_with(name, "./"))
		name += 2;
	json_begin_object(s->reply);
	if (link) {
		json_key_bool(s->reply, "hard", hard != NULL);
		json_key_str(s->reply, "link", link);
	} else {
		if (write_file(s, name, e) < 0)
			return -1;
		json_key_int(s->reply, "file", s->n_files);
	}
	json_key_str(s->reply, "name", name);
	json_end_object(s->reply);
	s->n_files++;
	return 0;
}

static int stage_all(struct stage *s, struct err *e)
{
	struct archive_entry *entry;

	if (archive_read_support_filter_gzip(s->a) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(s->a) != ARCHIVE_OK ||
	    archive_read_support_filter_xz(s->a) != ARCHIVE_OK ||
	    archive_read_support_filter_bzip2(s->a) != ARCHIVE_OK ||
	    archive_read_support_format_tar(s->a) != ARCHIVE_OK)
		return archive_err(s, "prepare to read the archive", e);
	if (archive_read_open_fd(s->a, STDIN_FILENO, READ_BLOCK_BYTES) != ARCHIVE_OK)
		return archive_err(s, "not an image archive", e);
	for (;;) {
		int r = archive_read_next_header(s->a, &entry);

		if (r == ARCHIVE_EOF)
			return 0;
		if (r < ARCHIVE_WARN)
			return archive_err(
				s, s->n_files ? "read the archive" : "not an image archive", e);
		if (stage_entry(s, entry, e) < 0)
			return -1;
	}
}

int stage_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	struct stage s = { .a = archive_read_new(), .reply = reply };
	int r;

	if (!s.a)
		return err_set(e, ERR_SYSTEM, "no memory for an archive reader");
	json_begin_object(reply);
	json_key(reply, "files");
	json_begin_array(reply);
	r = stage_all(&s, e);
	json_end_array(reply);
	json_end_object(reply);
	archive_read_free(s.a);
	return r;
}
