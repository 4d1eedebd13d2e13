#include "client/replay.h"

#include "base/cleanup.h"
#include "t.h"

/* Attaches a terminal with ROWS rows to a command that has printed OUT and left its terminal in the
 * modes SCREEN. No client got the last FRESH bytes of OUT before. Returns what the terminal gets,
 * with ^ for ESC. */
static const char *shown(const char *out, size_t fresh, unsigned rows, const char *screen)
{
	static struct buf text = BUF_INIT(REPLAY_MAX_BYTES);
	struct attached_message m = { .kept = strlen(out),
				      .fresh = fresh,
				      .screen = { screen, strlen(screen) } };
	struct screen now;
	struct replay r;

	buf_clear(&text);
	replay_begin(&r, &m);
	for (const char *p = out; *p; p++) {
		T_TRUE(!replay_is_complete(&r));
		replay_add(&r, p, 1);
	}
	T_TRUE(replay_is_complete(&r));
	replay_show(&r, rows, &now, &text);
	replay_done(&r);
	T_TRUE(!buf_failed(&text));
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\033')
			text.p[i] = '^';
	return buf_str(&text);
}

#define ALT_ON "\033[?1049h"
#define ALT_OFF "\033[?1049l"

static void last_lines(void)
{
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 0, 24, ""), "a\r\nb\r\nc\r\n$ ");
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 0, 2, ""), "c\r\n$ ");
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 0, 1, ""), "$ ");
	T_STR(shown("", 0, 24, ""), "");
}

static void fresh_output_is_shown_whole(void)
{
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 8, 1, ""), "b\r\nc\r\n$ ");
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 11, 1, ""), "a\r\nb\r\nc\r\n$ ");
	T_STR(shown("a\r\nb\r\nc\r\n$ ", 1, 2, ""), "c\r\n$ ");
	T_STR(shown("a\342\200\233\n$ ", 4, 1, ""), "\342\200\233\n$ ");
}

static void the_alternate_screen_is_left_out(void)
{
	T_STR(shown("$ vi\r\n" ALT_ON "drawn" ALT_OFF "$ ", 0, 24, ""), "$ vi\r\n$ ");
	T_STR(shown("$ vi\r\n" ALT_ON "\033[3;1Hdrawn", 0, 24, ALT_ON), "$ vi\r\n^[?1049h^[H^[2J");
	T_STR(shown("drawn", 0, 24, ALT_ON), "^[?1049h^[H^[2J");
	T_STR(shown("drawn" ALT_OFF "$ ", 0, 24, ""), "$ ");
	T_STR(shown("$ " ALT_ON "a" ALT_OFF "b" ALT_ON "c", 0, 24, ALT_ON), "$ b^[?1049h^[H^[2J");
}

static void erased_text_is_left_out(void)
{
	T_STR(shown("old\r\n\033[H\033[2J$ ", 0, 24, ""), "$ ");
	T_STR(shown("old\r\n\033[H\033[J$ ", 0, 24, ""), "$ ");
	T_STR(shown("old\r\n\033[H\033[J$ ", 20, 24, ""), "$ ");
	T_STR(shown("$ ls\033[2D\033[Kx", 0, 24, ""), "$ ls^[2D^[Kx");
}

static void questions_are_left_out(void)
{
	T_STR(shown("a\033[6nb\033]11;?\ac\033[>cd\033P$qm\033\\e\005f\033[31mg\033[", 0, 24, ""),
	      "abcdef^[31mg");
	T_STR(shown("a\033[6nb", 6, 24, ""), "ab");
	/* some terminals obey control characters of 8 bits */
	T_STR(shown("a\233cb\2326\205nc", 0, 24, ""), "ab6nc");
	T_TRUE(!strstr(shown("a\302\2336nb\302\220$qm\302\234c\340\202\2335nd", 0, 24, ""), "n"));
	T_STR(shown("\342\200\233 \303\251", 0, 24, ""), "\342\200\233 \303\251");
}

static void modes_come_last(void)
{
	T_STR(shown("\033[?2004h$ ", 0, 24, "\033[?2004h"), "$ ^[?2004h");
	T_STR(shown("\033[?2004h$ \033[?2004l", 0, 24, ""), "$ ");
}

int main(void)
{
	T_RUN(last_lines);
	T_RUN(fresh_output_is_shown_whole);
	T_RUN(the_alternate_screen_is_left_out);
	T_RUN(erased_text_is_left_out);
	T_RUN(questions_are_left_out);
	T_RUN(modes_come_last);
	return t_end();
}
