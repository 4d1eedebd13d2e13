/* Writes an archive from any stream of well-formed records, as a hijacked pid 1 could send it. A
 * complete archive must hold every file of the stream and the links that count() counts, and
 * untar() must accept the archive. The first byte of the input says where the stream is cut into
 * two pieces; each other byte is one record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "tree/tar.h"
#include "tree/untar.h"

#define ARCHIVE_MAX_BYTES (4u << 20)
#define INPUT_MAX_BYTES 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct counts {
	unsigned files, dirs, links;
	uint64_t bytes;
};

static void put(struct buf *b, uint8_t op)
{
	static char name[FILE_NAME_MAX_BYTES + 1], target[FILE_TARGET_MAX_BYTES + 1];

	memset(name, 'a' + (op >> 3 & 3), sizeof(name) - 1);
	memset(target, 't', sizeof(target) - 1);
	if (op & 0x80)
		name[1] = target[1] = '\0';
	if (op & 0x40) /* leads out of the tree */
		target[0] = '/';
	switch (op & 7) {
	case 0:
		file_put_dir(b, 07755, name);
		break;
	case 1:
		file_put_file(b, 06755, name);
		break;
	case 2:
		file_put_end(b);
		break;
	case 3:
		file_put_link(b, name, target);
		break;
	case 4:
		file_put_data(b, name, op >> 3);
		break;
	case 5:
		file_put_hole(b, (uint64_t)op << 4);
		break;
	case 6:
		file_put_note(b, FILE_MISS, name);
		break;
	case 7:
		file_put_done(b);
		break;
	}
}

static void pass(void *arg, enum file_record_type type, const char *text)
{
}

static int keep(void *arg, const void *p, size_t n, struct err *e)
{
	buf_add(arg, p, n);
	return 0;
}

static void count(struct counts *c, const struct file_record *r)
{
	c->files += r->type == FILE_FILE;
	c->dirs += r->type == FILE_DIR;
	/* The archive lacks two kinds of links, so they are not counted: links that lead out of the
	 * tree, and a link that is not in a directory of the stream. */
	c->links += r->type == FILE_LINK && c->dirs > 0 && r->target[0] != '/';
	c->bytes += r->type == FILE_DATA ? r->data.n : r->type == FILE_HOLE ? r->size : 0;
}

static int count_all(void *arg, const void *p, size_t n, struct err *e)
{
	static struct file_record r;
	struct str in = { p, n };

	while (file_record_next(&in, &r) > 0) {
		if (r.type == FILE_NOTE || r.type == FILE_MISS ||
		    (r.type == FILE_LINK && r.target[0] == '/') ||
		    (r.type != FILE_LINK && r.mode & 06000))
			abort();
		count(arg, &r);
	}
	return 0;
}

static long read_archive(void *arg, void *p, size_t n)
{
	struct str *in = arg;

	if (n > in->n)
		n = in->n;
	memcpy(p, in->p, n);
	in->p += n;
	in->n -= n;
	return (long)n;
}

static void check_archive(const struct buf *archive, const struct buf *stream)
{
	struct counts theirs = { 0 }, ours = { 0 };
	static struct file_record r;
	struct str records = { stream->p, stream->n }, in = { archive->p, archive->n };
	const struct untar_source from = { .read = read_archive, .arg = &in };
	const struct tree_sink to = { .write = count_all, .arg = &theirs };
	struct err e;

	while (file_record_next(&records, &r) > 0)
		count(&ours, &r);
	if (archive->n % 512 != 0 || untar(&from, &to, &e) < 0)
		abort();
	if (ours.files != theirs.files || ours.links != theirs.links || ours.bytes != theirs.bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int scratch = -1;
	AUTO_BUF stream = BUF_INIT(1u << 20), archive = BUF_INIT(ARCHIVE_MAX_BYTES);
	const struct tree_sink to = { .write = keep, .arg = &archive };
	struct tar t = { .to = &to, .note = pass };
	struct err e;
	size_t cut;
	int r;

	if (size < 2 || size > INPUT_MAX_BYTES)
		return 0;
	if (scratch < 0)
		scratch = memfd_create("scratch", MFD_CLOEXEC);
	t.scratch = scratch;
	for (size_t i = 1; i < size; i++)
		put(&stream, data[i]);
	cut = stream.n * data[0] / 256;
	tar_init(&t);
	r = tar_feed(&t, stream.p, cut, &e);
	if (r == 0)
		r = tar_feed(&t, stream.p + cut, stream.n - cut, &e);
	if (r == 0 && t.ended && !buf_failed(&archive))
		check_archive(&archive, &stream);
	tar_done(&t);
	return 0;
}
