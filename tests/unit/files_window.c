#include "files/window.h"

#include "t.h"

/* Adds TEXT in pieces of PIECE bytes. */
static void feed(struct window *w, const char *text, size_t piece)
{
	size_t n = strlen(text);

	for (size_t at = 0; at < n; at += piece)
		if (!window_add(w, text + at, n - at < piece ? n - at : piece))
			return;
	window_end(w);
}

static const struct {
	const char *text;
	uint64_t first, lines;
	size_t bytes;
	const char *content;
	enum window_limit limit;
	uint64_t taken;
} table[] = {
	{ "a\nb\nc\n", 1, 10, 100, "a\nb\nc\n", WINDOW_WHOLE, 3 },
	{ "a\nb\nc", 2, 10, 100, "b\nc", WINDOW_WHOLE, 2 },
	{ "a\nb\nc\n", 2, 1, 100, "b\n", WINDOW_LINES, 1 },
	{ "a\nb\nc\n", 1, 3, 100, "a\nb\nc\n", WINDOW_WHOLE, 3 },
	{ "a\nb\nc\n", 1, 10, 4, "a\nb\n", WINDOW_BYTES, 2 },
	{ "a\nbbbb\n", 1, 10, 4, "a\n", WINDOW_BYTES, 1 },
	{ "a\n", 9, 10, 4, "", WINDOW_WHOLE, 0 },
	{ "", 1, 10, 4, "", WINDOW_WHOLE, 0 },
	{ "\n\n", 1, 10, 4, "\n\n", WINDOW_WHOLE, 2 },
	{ "\xff\n", 1, 10, 4, "\xef\xbf\xbd\n", WINDOW_WHOLE, 1 },
	{ "\xff\n", 1, 10, 3, "", WINDOW_BYTES, 0 },
};

static void every_piece_size_gives_the_same_window(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (size_t piece = 1; piece < 9; piece++) {
			struct window w;

			window_init(&w, table[i].first, table[i].lines, table[i].bytes);
			feed(&w, table[i].text, piece);
			T_STR(buf_str(&w.content), table[i].content);
			T_INT(w.limit, table[i].limit);
			T_INT(w.taken, table[i].taken);
			window_done(&w);
		}
}

static void a_first_line_that_is_too_long_is_named_with_its_place(void)
{
	struct window w;

	window_init(&w, 2, 10, 4);
	feed(&w, "ab\nabcdefg\n", 3);
	T_TRUE(w.too_long);
	T_INT(w.line, 2);
	T_INT(w.at, 3);
	T_INT(w.limit, WINDOW_BYTES);
	window_done(&w);
}

int main(void)
{
	T_RUN(every_piece_size_gives_the_same_window);
	T_RUN(a_first_line_that_is_too_long_is_named_with_its_place);
	return t_end();
}
