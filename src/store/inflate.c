#include "store/inflate.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"

#define READ_BLOCK_BYTES (128u << 10)

static int archive_err(struct inflate *p, const char *what, struct err *e)
{
	const char *why = archive_error_string(p->reader);

	return err_set(e, ERR_PROTOCOL, "%s: %s", what, why ? why : "damaged data");
}

int inflate_open(struct inflate *p, int fd, uint64_t blob_bytes, struct err *e)
{
	struct archive_entry *entry;
	int r;

	*p = (struct inflate){ .max_n = LAYER_PLAIN_MAX_BYTES,
			       .why = "more than its size can honestly hold" };
	if (blob_bytes && blob_bytes < LAYER_PLAIN_MAX_BYTES / LAYER_RATIO_MAX)
		p->max_n = LAYER_RATIO_FREE_BYTES + blob_bytes * LAYER_RATIO_MAX;
	if (hash_init(&p->hash, e) < 0)
		return -1;
	p->reader = archive_read_new();
	if (!p->reader || archive_read_support_filter_gzip(p->reader) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(p->reader) != ARCHIVE_OK ||
	    archive_read_support_format_raw(p->reader) != ARCHIVE_OK ||
	    archive_read_support_format_empty(p->reader) != ARCHIVE_OK)
		return err_set(e, ERR_SYSTEM, "no memory for a decompressor");
	if (archive_read_open_fd(p->reader, fd, READ_BLOCK_BYTES) != ARCHIVE_OK)
		return archive_err(p, "read the blob", e);
	r = archive_read_next_header(p->reader, &entry);
	if (r == ARCHIVE_EOF)
		p->ended = true;
	else if (r != ARCHIVE_OK)
		return archive_err(p, "read the blob", e);
	return 0;
}

int inflate_read(struct inflate *p, const void **ret, size_t *ret_n, struct err *e)
{
	la_int64_t at;
	int r;

	*ret_n = 0;
	if (p->ended)
		return 0;
	do
		r = archive_read_data_block(p->reader, ret, ret_n, &at);
	while (r == ARCHIVE_RETRY);
	if (r == ARCHIVE_EOF) {
		*ret_n = 0;
		p->ended = true;
		return 0;
	}
	if (r != ARCHIVE_OK)
		return archive_err(p, "decompress", e);
	if (*ret_n > p->max_n - p->n)
		return err_set(e, ERR_LIMIT, "layer grows beyond %llu MiB when decompressed, %s",
			       (unsigned long long)(p->max_n >> 20), p->why);
	p->n += *ret_n;
	hash_add(&p->hash, *ret, *ret_n);
	return 0;
}

void inflate_done(struct inflate *p)
{
	if (p->reader)
		archive_read_free(p->reader);
	p->reader = NULL;
	hash_done(&p->hash);
}

static int write_tar(struct inflate *p, struct err *e)
{
	const void *piece;
	size_t n;
	int r;

	for (;;) {
		if (inflate_read(p, &piece, &n, e) < 0)
			return -1;
		if (n == 0)
			return 0;
		r = io_write_all(STDOUT_FILENO, piece, n);
		if (r < 0)
			return err_sys(e, -r, "write the plain layer");
	}
}

int inflate_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e)
{
	struct inflate p;
	int r = inflate_open(&p, STDIN_FILENO, 0, e);

	if (r == 0)
		r = write_tar(&p, e);
	if (r == 0) {
		json_begin_object(reply);
		json_key_int(reply, "tar_bytes", (int64_t)p.n);
		json_end_object(reply);
	}
	inflate_done(&p);
	return r;
}
