#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "skills/zip.h"

#define PIECE_BYTES 65536u
#define METHOD_STORED 0u
#define METHOD_DEFLATED 8u

/* How far the inflation of an entry has come. */
struct progress {
	const struct zip_entry *entry;
	int (*take)(void *arg, const void *p, size_t n);
	void *arg;
	uint64_t n;
	uLong crc;
};

static int size_changed(const struct zip_entry *e, struct why *y)
{
	return why_set(y, "Archive entry size changed while extracting: %s", e->name);
}

static int pass(struct progress *g, const void *p, size_t n, struct why *y)
{
	int r;

	if (n > g->entry->size - g->n)
		return size_changed(g->entry, y);
	g->n += n;
	g->crc = crc32(g->crc, p, (uInt)n);
	r = g->take && n ? g->take(g->arg, p, n) : 0;
	return r < 0 ? why_sys(y, -r, "Archive entry cannot be written: %s", g->entry->name) : 0;
}

static int copy_stored(struct progress *g, struct why *y)
{
	struct str rest = g->entry->packed;

	while (rest.n) {
		size_t n = rest.n < PIECE_BYTES ? rest.n : PIECE_BYTES;

		if (pass(g, rest.p, n, y) < 0)
			return -1;
		rest.p += n;
		rest.n -= n;
	}
	return 0;
}

static int broken(struct why *y)
{
	return why_set(y, "Uploaded file must be a valid .zip archive");
}

/* Each turn of the loop fills PIECE, uses up the input, or ends the loop. So the loop ends even for
 * input that inflates to nothing. */
static int run_inflate(struct progress *g, z_stream *z, unsigned char *piece, struct why *y)
{
	int r;

	do {
		z->next_out = piece;
		z->avail_out = PIECE_BYTES;
		r = inflate(z, Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END)
			return broken(y);
		if (pass(g, piece, PIECE_BYTES - z->avail_out, y) < 0)
			return -1;
	} while (r == Z_OK);
	return 0;
}

static int inflate_deflated(struct progress *g, struct why *y)
{
	AUTO_FREE unsigned char *piece = xmalloc(PIECE_BYTES);
	z_stream z = { .next_in = (Bytef *)g->entry->packed.p,
		       .avail_in = (uInt)g->entry->packed.n };
	int r;

	/* -15: raw deflate data without zlib's header, with the largest window */
	if (inflateInit2(&z, -15) != Z_OK)
		out_of_memory();
	r = run_inflate(g, &z, piece, y);
	inflateEnd(&z);
	return r;
}

int zip_inflate(const struct zip_entry *entry, int (*take)(void *arg, const void *p, size_t n),
		void *arg, struct why *y)
{
	struct progress g = { .entry = entry, .take = take, .arg = arg, .crc = crc32(0, NULL, 0) };
	int r;

	if (entry->is_dir)
		return 0;
	switch (entry->method) {
	case METHOD_STORED:
		r = copy_stored(&g, y);
		break;
	case METHOD_DEFLATED:
		r = inflate_deflated(&g, y);
		break;
	default:
		return why_set(y,
			       "Archive entry has a compression method that is not supported: %s",
			       entry->name);
	}
	if (r < 0)
		return -1;
	if (g.n != entry->size)
		return size_changed(entry, y);
	return g.crc == entry->crc ? 0 : broken(y);
}
