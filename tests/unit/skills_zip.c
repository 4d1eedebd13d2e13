#include "skills/zip.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "t.h"

/* --- archives that are written by hand ------------------------------------------------------- */

/* An entry of an archive. If `size`, `packed`, `header_at` or `crc` is 0, make() writes the correct
 * value. Otherwise it writes the given number. */
struct made {
	const char *name;
	size_t name_n; /* 0: the length of NAME up to its NUL */
	const char *data;
	size_t data_n;
	unsigned method, flags;
	uint32_t attributes;
	uint64_t size, packed, header_at; /* values in the central directory */
	uint32_t crc;
	const char *local_name;
	bool wide; /* the extra field has 64-bit numbers */
};

struct maker {
	struct buf bytes, directory;
	unsigned n;
};

static void put16(struct buf *b, unsigned v)
{
	buf_add_char(b, (char)v);
	buf_add_char(b, (char)(v >> 8));
}

static void put32(struct buf *b, uint32_t v)
{
	put16(b, v & 0xffff);
	put16(b, v >> 16);
}

static void put64(struct buf *b, uint64_t v)
{
	put32(b, (uint32_t)v);
	put32(b, (uint32_t)(v >> 32));
}

static void pack(const struct made *e, struct buf *out)
{
	z_stream z = { .next_in = (Bytef *)e->data, .avail_in = (uInt)e->data_n };

	if (e->method != 8) {
		buf_add(out, e->data, e->data_n);
		return;
	}
	deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
	z.next_out = buf_room(out, deflateBound(&z, e->data_n) + 64);
	z.avail_out = (uInt)(deflateBound(&z, e->data_n) + 64);
	deflate(&z, Z_FINISH);
	out->n += z.total_out;
	deflateEnd(&z);
}

static void make(struct maker *m, const struct made *e)
{
	AUTO_BUF packed = BUF_INIT(64 << 20);
	size_t name_n = e->name_n ? e->name_n : strlen(e->name);
	const char *local = e->local_name ? e->local_name : e->name;
	size_t local_n = e->local_name ? strlen(e->local_name) : name_n;
	uint64_t at = e->header_at ? e->header_at : m->bytes.n;
	uint64_t size = e->size ? e->size : e->data_n, packed_n;
	uint32_t crc =
		e->crc ? e->crc : (uint32_t)crc32(0, (const Bytef *)e->data, (uInt)e->data_n);

	pack(e, &packed);
	packed_n = e->packed ? e->packed : packed.n;
	put32(&m->bytes, 0x04034b50);
	put16(&m->bytes, 20);
	put16(&m->bytes, e->flags);
	put16(&m->bytes, e->method);
	/* zeros for times, sums and sizes: readers take these from the central directory */
	buf_add_fill(&m->bytes, 0, 4 + 4 + 4 + 4);
	put16(&m->bytes, (unsigned)local_n);
	put16(&m->bytes, 0);
	buf_add(&m->bytes, local, local_n);
	buf_add(&m->bytes, packed.p, packed.n);

	put32(&m->directory, 0x02014b50);
	put16(&m->directory, 20);
	put16(&m->directory, 20);
	put16(&m->directory, e->flags);
	put16(&m->directory, e->method);
	put32(&m->directory, 0);
	put32(&m->directory, crc);
	put32(&m->directory, e->wide ? 0xffffffff : (uint32_t)packed_n);
	put32(&m->directory, e->wide ? 0xffffffff : (uint32_t)size);
	put16(&m->directory, (unsigned)name_n);
	put16(&m->directory, e->wide ? 28 : 0);
	put16(&m->directory, 0);
	put16(&m->directory, 0);
	put16(&m->directory, 0);
	put32(&m->directory, e->attributes);
	put32(&m->directory, e->wide ? 0xffffffff : (uint32_t)at);
	buf_add(&m->directory, e->name, name_n);
	if (e->wide) {
		put16(&m->directory, 1);
		put16(&m->directory, 24);
		put64(&m->directory, size);
		put64(&m->directory, packed_n);
		put64(&m->directory, at);
	}
	m->n++;
}

static void end(struct maker *m, bool wide)
{
	size_t at = m->bytes.n, n = m->directory.n;

	buf_add(&m->bytes, m->directory.p, n);
	if (wide) {
		size_t end_at = m->bytes.n;

		put32(&m->bytes, 0x06064b50);
		put64(&m->bytes, 44);
		put32(&m->bytes, 0);
		put64(&m->bytes, 0);
		put64(&m->bytes, m->n);
		put64(&m->bytes, m->n);
		put64(&m->bytes, n);
		put64(&m->bytes, at);
		put32(&m->bytes, 0x07064b50);
		put32(&m->bytes, 0);
		put64(&m->bytes, end_at);
		put32(&m->bytes, 1);
	}
	put32(&m->bytes, 0x06054b50);
	put32(&m->bytes, 0);
	put16(&m->bytes, m->n);
	put16(&m->bytes, m->n);
	put32(&m->bytes, wide ? 0xffffffff : (uint32_t)n);
	put32(&m->bytes, wide ? 0xffffffff : (uint32_t)at);
	put16(&m->bytes, 0);
}

#define AUTO_MAKER __attribute__((cleanup(maker_done))) struct maker
// clang-format off
#define MAKER_INIT { .bytes = BUF_INIT(64 << 20), .directory = BUF_INIT(8 << 20) }
// clang-format on

static void maker_done(struct maker *m)
{
	buf_done(&m->bytes);
	buf_done(&m->directory);
}

/* --- reading archives ------------------------------------------------------------------------ */

static int take(void *arg, const void *p, size_t n)
{
	buf_add(arg, p, n);
	return 0;
}

/* Returns "path*mode=content " of each file and "path/ " of each directory, or the reason for a
 * refusal in angle brackets. */
static char *contents(struct str bytes)
{
	AUTO_WHY y = WHY_INIT;
	AUTO_BUF out = BUF_INIT(128 << 20);
	AUTO_ZIP z = { 0 };

	if (zip_open(bytes, &z, &y) < 0)
		return xasprintf("<%s>", buf_str(&y.text));
	for (size_t i = 0; i < z.n; i++) {
		const struct zip_entry *e = &z.entry[i];

		buf_addf(&out, "%s%s", e->path, e->is_dir ? "/ " : "");
		if (e->is_dir)
			continue;
		buf_addf(&out, "*%o=", e->mode);
		if (zip_inflate(e, take, &out, &y) < 0)
			return xasprintf("<%s>", buf_str(&y.text));
		buf_add_char(&out, ' ');
	}
	return buf_take(&out);
}

#define BYTES(m) ((struct str){ (m).bytes.p, (m).bytes.n })

#define GIVES(m, want)                                     \
	do {                                               \
		AUTO_FREE char *got_ = contents(BYTES(m)); \
		T_STR(got_, want);                         \
	} while (0)

/* Reads an archive of one entry and compares the result with WANT. */
#define ONE(want, ...)                                     \
	do {                                               \
		AUTO_MAKER one_ = MAKER_INIT;              \
		const struct made made_ = { __VA_ARGS__ }; \
		make(&one_, &made_);                       \
		end(&one_, false);                         \
		GIVES(one_, want);                         \
	} while (0)

static void reading(void)
{
	AUTO_MAKER m = MAKER_INIT;

	make(&m, &(struct made){ .name = "kit/" });
	make(&m, &(struct made){ .name = "kit/a", .data = "hello", .data_n = 5 });
	make(&m, &(struct made){ .name = "kit/b",
				 .data = "hello hello hello",
				 .data_n = 17,
				 .method = 8,
				 .attributes = (uint32_t)(S_IFREG | 0755) << 16 });
	make(&m, &(struct made){ .name = "empty" });
	end(&m, false);
	GIVES(m, "kit/ kit/a*644=hello kit/b*755=hello hello hello empty*644= ");
}

static void forms(void)
{
	AUTO_MAKER wide = MAKER_INIT, front = MAKER_INIT, back = MAKER_INIT;

	make(&wide, &(struct made){ .name = "a", .data = "x", .data_n = 1, .wide = true });
	end(&wide, true);
	GIVES(wide, "a*644=x ");
	/* a program is in front of the archive, and the offsets do not count its bytes */
	buf_add_str(&front.bytes, "#!/bin/sh\n");
	make(&front, &(struct made){ .name = "a", .data = "x", .data_n = 1, .header_at = 0 });
	front.directory.p[42] = 0;
	end(&front, false);
	{
		uint32_t at = (uint32_t)(front.bytes.n - 22 - front.directory.n - 10);

		front.bytes.n -= 6;
		put32(&front.bytes, at);
		put16(&front.bytes, 0);
	}
	GIVES(front, "a*644=x ");
	/* a comment after the archive */
	make(&back, &(struct made){ .name = "a", .data = "x", .data_n = 1 });
	end(&back, false);
	buf_cut(&back.bytes, back.bytes.n - 2);
	put16(&back.bytes, 7);
	buf_add_str(&back.bytes, "comment");
	GIVES(back, "a*644=x ");
}

static void names(void)
{
	static const char unsafe[] = "<Archive contains an unsafe path: ";
	AUTO_FREE char *huge = xcalloc(1, 5000);
	AUTO_FREE char *want = NULL;

#define UNSAFE(n)                                                      \
	do {                                                           \
		AUTO_FREE char *want_ = xasprintf("%s%s>", unsafe, n); \
		ONE(want_, .name = n);                                 \
	} while (0)
	UNSAFE("/etc/passwd");
	UNSAFE("../x");
	UNSAFE("a/../../x");
	UNSAFE("..");
	UNSAFE(".");
	UNSAFE("./");
	UNSAFE("a/..");
	UNSAFE("\\x");
	UNSAFE("..\\x");
	UNSAFE("C:x");
	UNSAFE("c:\\x");
	ONE("a/b*644= ", .name = "a\\b");
	ONE("a/b*644= ", .name = "a/./c/../b");
	ONE("d/ ", .name = "d\\");
	ONE("..a*644= ", .name = "..a");
	ONE("<Archive contains an unsafe empty or NUL path>", .name = "");
	ONE("<Archive contains an unsafe empty or NUL path>", .name = "a\0b", .name_n = 3);
	/* names are UTF-8 if the flag says so, else in the code page of DOS */
	ONE("\xc3\xa9*644= ", .name = "\xc3\xa9", .flags = 0x800);
	ONE("\xe2\x94\x9c\xe2\x8c\x90*644= ", .name = "\xc3\xa9");
	ONE("<Archive contains an unsafe path: a\xef\xbf\xbd>", .name = "a\xff", .flags = 0x800);
	ONE("a\xc2\xa0*644= ", .name = "a\xff");
	memset(huge, 'a', 256);
	want = xasprintf("%s%s>", unsafe, huge);
	ONE(want, .name = huge);
	for (size_t i = 0; i < 4200; i++)
		huge[i] = i % 2 ? '/' : 'a';
	huge[4199] = 'a';
	free(want);
	want = xasprintf("%s%s>", unsafe, huge);
	ONE(want, .name = huge);
}

static void duplicates(void)
{
	static const char *const pairs[][2] = {
		{ "a", "a" },      { "a/", "a" },       { "a", "a/" },
		{ "a", "a/b" },    { "a/b", "a" },      { "d/", "d/" },
		{ "a/b", "a\\b" }, { "a/b", "./a//b" }, { "a", "a/b/c/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_MAKER m = MAKER_INIT;
		AUTO_FREE char *want =
			xasprintf("<Archive contains a duplicate path: %s>", pairs[i][1]);

		make(&m, &(struct made){ .name = pairs[i][0] });
		make(&m, &(struct made){ .name = pairs[i][1] });
		end(&m, false);
		GIVES(m, want);
	}
	{
		AUTO_MAKER m = MAKER_INIT;

		make(&m, &(struct made){ .name = "a/b" });
		make(&m, &(struct made){ .name = "a/" });
		make(&m, &(struct made){ .name = "ab" });
		end(&m, false);
		GIVES(m, "a/b*644= a/ ab*644= ");
	}
}

static void kinds(void)
{
#define MODE(m) ((uint32_t)(m) << 16)
	ONE("<Archive contains a symbolic link: l>", .name = "l",
	    .attributes = MODE(S_IFLNK | 0777));
	ONE("<Archive contains a non-regular entry: p>", .name = "p", .attributes = MODE(S_IFIFO));
	ONE("<Archive contains a non-regular entry: c>", .name = "c", .attributes = MODE(S_IFCHR));
	ONE("<Archive contains a non-regular entry: s/>", .name = "s/",
	    .attributes = MODE(S_IFSOCK));
	ONE("d/ ", .name = "d", .attributes = MODE(S_IFDIR | 0755));
	ONE("f*755= ", .name = "f", .attributes = MODE(04111));
	ONE("f*644= ", .name = "f", .attributes = MODE(S_IFREG | 06666));
	ONE("<Archive directory has unexpected content: d/>", .name = "d/", .data = "x",
	    .data_n = 1);
}

static void sizes(void)
{
	AUTO_FREE char *zeros = xcalloc(1, 17 << 20);

	ONE("<Archive entry exceeds the uncompressed size limit: a>", .name = "a", .data = zeros,
	    .data_n = (16 << 20) + 1, .method = 8);
	ONE("<Archive entry exceeds the compression ratio limit: a>", .name = "a", .data = zeros,
	    .data_n = 1 << 20, .method = 8);
	ONE("<Archive entry exceeds the compression ratio limit: a>", .name = "a", .size = 101,
	    .data = "x", .data_n = 1);
	ONE("<Archive entry size changed while extracting: a>", .name = "a", .size = 100,
	    .data = "x", .data_n = 1);
	ONE("<Archive entry size changed while extracting: a>", .name = "a", .size = 2,
	    .data = "xyz", .data_n = 3);
	ONE("<Archive entry size changed while extracting: a>", .name = "a", .size = 2,
	    .data = "xyz", .data_n = 3, .method = 8);
	ONE("<Archive entry size changed while extracting: a>", .name = "a", .size = 4,
	    .data = "xyz", .data_n = 3, .method = 8);
	ONE("<Archive contains invalid size metadata: a>", .name = "a", .data = "x", .data_n = 1,
	    .packed = 100);
	ONE("<Archive contains invalid size metadata: a>", .name = "a", .data = "x", .data_n = 1,
	    .packed = 1ull << 40, .wide = true);
	ONE("<Archive contains invalid size metadata: a>", .name = "a", .data = "x", .data_n = 1,
	    .header_at = ~0ull - 5, .wide = true);
	ONE("<Archive contains invalid size metadata: a>", .name = "a", .data = "x", .data_n = 1,
	    .header_at = 70);
	ONE("<Archive entry exceeds the uncompressed size limit: a>", .name = "a", .data = "x",
	    .data_n = 1, .size = ~0ull - 1, .wide = true);
	ONE("<Uploaded file must be a valid .zip archive>", .name = "a", .data = "0123456789",
	    .data_n = 10, .header_at = 3);
	ONE("<Uploaded file must be a valid .zip archive>", .name = "a", .data = "x", .data_n = 1,
	    .crc = 5);
	ONE("<Uploaded file must be a valid .zip archive>", .name = "a", .local_name = "b");
	ONE("<Archive contains an encrypted entry: a>", .name = "a", .flags = 1);
	ONE("<Archive entry has a compression method that is not supported: a>", .name = "a",
	    .data = "x", .data_n = 1, .method = 12);
}

static void totals(void)
{
	AUTO_MAKER many = MAKER_INIT, most = MAKER_INIT, large = MAKER_INIT, shared = MAKER_INIT;
	AUTO_FREE char *text = xmalloc(16 << 20);
	AUTO_FREE char *got = NULL;
	char name[16];

	for (unsigned i = 0; i < 513; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		make(&many, &(struct made){ .name = name });
		if (i < 512)
			make(&most, &(struct made){ .name = name });
	}
	end(&many, false);
	end(&most, false);
	GIVES(many, "<Archive contains too many entries (maximum 512)>");
	got = contents(BYTES(most));
	T_TRUE(starts_with(got, "f0*644= f1*644="));
	/* the compression ratio of each entry is below 100, so it is allowed, but the sum of their
	 * sizes is too large */
	for (size_t i = 0; i < 16 << 20; i++)
		text[i] = (char)(i % 1000 < 30 ? rand() : 'a');
	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		make(&large,
		     &(struct made){ .name = name, .data = text, .data_n = 16 << 20, .method = 8 });
	}
	end(&large, false);
	GIVES(large, "<Archive exceeds the total uncompressed size limit>");
	/* two entries share one content */
	make(&shared, &(struct made){ .name = "a", .data = "x", .data_n = 1 });
	make(&shared, &(struct made){ .name = "a2", .data = "x", .data_n = 1 });
	shared.directory.p[46 + 1 + 42] = 0;
	end(&shared, false);
	GIVES(shared, "<Uploaded file must be a valid .zip archive>");
}

/* Entry b, with its header, lies inside the content of entry a. Simple readers do not notice such
 * an overlap. */
static void overlapping(void)
{
	AUTO_MAKER inner = MAKER_INIT, m = MAKER_INIT;

	make(&inner, &(struct made){ .name = "b", .data = "quoted", .data_n = 6 });
	make(&m, &(struct made){ .name = "a", .data = inner.bytes.p, .data_n = inner.bytes.n });
	inner.directory.p[42] = 31;
	buf_add(&m.directory, inner.directory.p, inner.directory.n);
	m.n++;
	end(&m, false);
	GIVES(m, "<Archive contains invalid size metadata: b>");
}

static void not_archives(void)
{
	AUTO_FREE char *large = xcalloc(1, ZIP_MAX_BYTES + 1);
	AUTO_MAKER m = MAKER_INIT;
	AUTO_FREE char *got = contents((struct str){ large, ZIP_MAX_BYTES + 1 });

	T_STR(got, "<Uploaded archive exceeds the compressed size limit (20971520 bytes)>");
	GIVES(m, "<Uploaded file is empty>");
	buf_add_str(&m.bytes, "PK\3\4 this is not one");
	GIVES(m, "<Uploaded file must be a valid .zip archive>");
	buf_clear(&m.bytes);
	end(&m, false);
	GIVES(m, "");
	for (size_t n = 0; n < m.bytes.n; n++) {
		AUTO_FREE char *cut = contents((struct str){ m.bytes.p, n });

		T_STR(cut, n ? "<Uploaded file must be a valid .zip archive>"
			     : "<Uploaded file is empty>");
	}
}

/* Flips each bit of an archive, one at a time. No archive may cause a bad access, which the
 * sanitizers would report. */
static void damaged(void)
{
	AUTO_MAKER m = MAKER_INIT;

	make(&m,
	     &(struct made){ .name = "a", .data = "hello hello hello", .data_n = 17, .method = 8 });
	make(&m, &(struct made){ .name = "b/", .wide = true });
	end(&m, true);
	for (size_t i = 0; i < m.bytes.n; i++)
		for (unsigned flip = 1; flip < 256; flip *= 2) {
			m.bytes.p[i] = (char)(m.bytes.p[i] ^ flip);
			free(contents(BYTES(m)));
			m.bytes.p[i] = (char)(m.bytes.p[i] ^ flip);
		}
	GIVES(m, "a*644=hello hello hello b/ ");
}

int main(void)
{
	T_RUN(reading);
	T_RUN(forms);
	T_RUN(names);
	T_RUN(duplicates);
	T_RUN(kinds);
	T_RUN(sizes);
	T_RUN(totals);
	T_RUN(overlapping);
	T_RUN(not_archives);
	T_RUN(damaged);
	return t_end();
}
