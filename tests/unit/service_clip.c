#include "service/clip.h"

#include "base/cleanup.h"
#include "service/python.h"
#include "t.h"

/* Clips a text that is N times LETTER. Returns the number of characters that are left. */
static size_t clipped(size_t n, const char *letter, int64_t limit, bool *ret_cut, struct buf *out)
{
	AUTO_BUF text = BUF_INIT(1 << 20);

	for (size_t i = 0; i < n; i++)
		buf_add_str(&text, letter);
	*ret_cut = clip_text((struct str){ buf_str(&text), text.n }, limit, out);
	return python_length((struct str){ buf_str(out), out->n });
}

static void no_text_exceeds_its_limit(void)
{
	static const char *const letters[] = { "a", "\xc3\xa9" };

	for (size_t k = 0; k < ARRAY_SIZE(letters); k++) {
		for (size_t n = 0; n < 1200; n += 7) {
			for (int64_t limit = -1; limit < 300; limit++) {
				AUTO_BUF out = BUF_INIT(1 << 20);
				bool cut;
				size_t left = clipped(n, letters[k], limit, &cut, &out);

				if (cut != ((int64_t)n > limit) || (!cut && left != n) ||
				    (cut && left != (limit > 0 ? (size_t)limit : 0) && limit > 40))
					T_FAIL("%zu characters, limit %lld: %zu left", n,
					       (long long)limit, left);
				T_TRUE(left <= (limit > 0 ? (size_t)limit : 0));
			}
		}
	}
}

/* Cuts 5000 characters to LangBot's limit of 4000 characters. */
static void head_and_tail_are_kept(void)
{
	static const char notice[] = "\n\n... [1039 characters truncated] ...\n\n";
	AUTO_BUF out = BUF_INIT(1 << 20);
	bool cut;

	T_INT(clipped(5000, "a", 4000, &cut, &out), 4000);
	T_TRUE(cut);
	T_TRUE(memcmp(out.p + 2376, notice, strlen(notice)) == 0);
	T_INT(out.n - 2376 - strlen(notice), 1585);
}

int main(void)
{
	T_RUN(no_text_exceeds_its_limit);
	T_RUN(head_and_tail_are_kept);
	return t_end();
}
