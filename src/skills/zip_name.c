#include "skills/zip_name.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/unicode.h"
#include "skills/name.h"
#include "skills/zip.h"

/* The characters of code page 437 for the bytes from 0x80 on. Names are in this encoding unless the
 * entry is marked as UTF-8. */
static const uint16_t cp437[128] = {
	// clang-format off
	0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7,
	0x00ea, 0x00eb, 0x00e8, 0x00ef, 0x00ee, 0x00ec, 0x00c4, 0x00c5,
	0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2, 0x00fb, 0x00f9,
	0x00ff, 0x00d6, 0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192,
	0x00e1, 0x00ed, 0x00f3, 0x00fa, 0x00f1, 0x00d1, 0x00aa, 0x00ba,
	0x00bf, 0x2310, 0x00ac, 0x00bd, 0x00bc, 0x00a1, 0x00ab, 0x00bb,
	0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556,
	0x2555, 0x2563, 0x2551, 0x2557, 0x255d, 0x255c, 0x255b, 0x2510,
	0x2514, 0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f,
	0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256c, 0x2567,
	0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256b,
	0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580,
	0x03b1, 0x00df, 0x0393, 0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4,
	0x03a6, 0x0398, 0x03a9, 0x03b4, 0x221e, 0x03c6, 0x03b5, 0x2229,
	0x2261, 0x00b1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00f7, 0x2248,
	0x00b0, 0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0,
	// clang-format on
};

static void add_character(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(out, (char)c);
	} else if (c < 0x800) {
		buf_add_char(out, (char)(0xc0 | c >> 6));
		buf_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_add_char(out, (char)(0xe0 | c >> 12));
		buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

char *zip_name_decode(struct str raw, bool utf8)
{
	AUTO_BUF out = BUF_INIT(3 * raw.n);

	while (raw.n) {
		if (utf8) {
			const char *at = raw.p;
			uint32_t c = unicode_take(&raw);

			if (c == UNICODE_REPLACEMENT)
				add_character(&out, c);
			else
				buf_add(&out, at, (size_t)(raw.p - at));
		} else {
			unsigned char c = (unsigned char)*raw.p;

			add_character(&out, c < 0x80 ? c : cp437[c - 0x80]);
			raw.p++;
			raw.n--;
		}
	}
	return buf_take(&out);
}

/* Returns true if PATH begins with a drive, that is one character and a colon. */
static bool has_drive(const char *path)
{
	struct str first = { path, strcspn(path, "/") };

	if (first.n == 0)
		return false;
	unicode_take(&first);
	return first.n && first.p[0] == ':';
}

static bool fits(const char *path)
{
	if (strlen(path) > ZIP_PATH_MAX_BYTES)
		return false;
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n > ZIP_NAME_MAX_BYTES)
			return false;
		path += n + (path[n] == '/');
	}
	return true;
}

char *zip_name_path(const char *name, bool *ret_is_dir)
{
	AUTO_FREE char *portable = xstrdup(name);
	AUTO_FREE char *path = NULL;
	size_t n = strlen(portable);

	for (char *p = portable; (p = strchr(p, '\\'));)
		*p = '/';
	path = path_normalise(str_of(portable));
	if (portable[0] == '/' || strcmp(path, ".") == 0 || strcmp(path, "..") == 0 ||
	    starts_with(path, "../") || has_drive(path) || !fits(path))
		return NULL;
	*ret_is_dir = portable[n - 1] == '/';
	return TAKE(path);
}
