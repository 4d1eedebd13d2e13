#include "wire/screen.h"
#include "base/cleanup.h"
#include "t.h"

static const char *shown(struct buf *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] == '\033')
			b->p[i] = '^';
	return buf_str(b);
}

/* Returns what screen_enter() writes after a program has printed TEXT. leave_after() does the same
 * for screen_leave(). In these texts ^ stands for ESC. */
static const char *enter_after(const char *text)
{
	static struct buf b = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct screen s = { 0 };

	buf_clear(&b);
	screen_feed(&s, text, strlen(text));
	screen_enter(&s, &b);
	return shown(&b);
}

static const char *leave_after(const char *text)
{
	static struct buf b = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct screen s = { 0 };

	buf_clear(&b);
	screen_feed(&s, text, strlen(text));
	screen_leave(&s, &b);
	return shown(&b);
}

static void test_plain_text_asks_for_nothing(void)
{
	T_STR(enter_after("hello\r\n\a\033[1mbold\033[0m\033[K\033[3A"), "");
	T_STR(leave_after("hello\r\n\a\033[1mbold\033[0m\033[K\033[3A"), "");
	T_STR(leave_after("\033[31mred"), "^(B^[0m");
}

static void test_a_full_screen_program(void)
{
	const char *vim =
		"\033[?1049h\033[22;0;0t\033[>4;2m\033[?1h\033=\033[?2004h\033[?1004h\033[1;24r"
		"\033[?12h\033[?12l\033[2 q\033[?25l";

	T_STR(enter_after(vim), "^[?1049h^[H^[2J^[?1h^[?25l^[?1004h^[?2004h^=^[2 q^[>4;2m");
	T_STR(leave_after(vim), "^[?1049l^[?2004l^[?1004l^[?25h^[?1l^>^7^[r^8^[0 q^[>4;0m^(B^[0m");
	T_STR(enter_after("\033[?1049h\033[?1h\033=\033[?1l\033>\033[?1049l"), "");
}

static void test_old_numbers_of_the_alternate_screen(void)
{
	T_STR(enter_after("\033[?47h"), "^[?1049h^[H^[2J");
	T_STR(enter_after("\033[?1047h\033[?1049l"), "");
}

static void test_several_modes_in_one_sequence(void)
{
	T_STR(enter_after("\033[?1000;1006;2004h"), "^[?1000h^[?1006h^[?2004h");
	T_STR(enter_after("\033[?1000;1006;2004h\033[?1006;1000l"), "^[?2004h");
}

static void test_keyboard_protocols(void)
{
	T_STR(enter_after("\033[>5u"), "^[>5u");
	T_STR(leave_after("\033[>5u\033[>7u"), "^[<2u^(B^[0m");
	T_STR(enter_after("\033[>5u\033[<u"), "");
	T_STR(enter_after("\033[>5u\033[<99u"), "");
	T_STR(leave_after("\033[>4;2m\033[>4m"), "");
}

/* Terminals obey a control character within a sequence, and then go on with the sequence. */
static void test_control_characters_within_a_sequence(void)
{
	struct screen s = { 0 };

	T_STR(leave_after("\033[?10\r00h"), "^[?1000l^(B^[0m");
	T_STR(leave_after("\033[\a?1049\nh"), "^[?1049l^(B^[0m");
	T_STR(leave_after("\033\n[?1000h"), "^[?1000l^(B^[0m");
	T_STR(leave_after("\033[?10\17700h"), "^[?1000l^(B^[0m");
	/* This sequence only chooses a colour, but it also rings the bell (\a). So screen_take()
	 * must not return SCREEN_DRAW: a client that attaches would repeat the bell. */
	screen_feed(&s, "\033[3\a1", 5);
	T_INT(screen_take(&s, 'm'), SCREEN_OTHER);
}

static void test_many_numbers(void)
{
	T_STR(leave_after("\033[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1003h"),
	      "^[?1003l^(B^[0m");
}

static void test_resets(void)
{
	T_STR(enter_after("\033[?1049h\033[?1h\033[>5u\033c"), "");
	T_STR(enter_after("\033[?1049h\033[?1h\033=\033[?25l\033[!p"), "^[?1049h^[H^[2J");
}

static void test_sequences_may_be_cut_anywhere(void)
{
	static const char text[] = "x\033]0;title\033\\\033[?1049;2004h\033P+q544e\033\\y\033[1;2H";
	struct screen whole = { 0 };

	screen_feed(&whole, text, strlen(text));
	for (size_t i = 0; i < strlen(text); i++) {
		struct screen s = { 0 };

		screen_feed(&s, text, i);
		screen_feed(&s, text + i, strlen(text) - i);
		T_INT(s.modes, whole.modes);
		T_INT(s.state, whole.state);
	}
}

/* Some terminals obey control characters of 8 bits, in UTF-8 or as one byte, and some do not. */
static void test_control_characters_of_8_bits(void)
{
	T_STR(leave_after("\302\233?1003h"), "^[?1003l^(B^[0m");
	T_STR(leave_after("\233?1003h"), "^[?1003l^(B^[0m");
	/* a terminal that ignores these characters still has the mode 1003 on, so screen_leave()
	 * must turn this mode off */
	T_STR(leave_after("\033[?1003h\302\233?1003l"), "^[?1003l^(B^[0m");
	T_STR(leave_after("\033[?1003h\302\220\033[?1003l"), "\030^\\^[?1003l^(B^[0m");
	T_STR(leave_after("\302\235"
			  "8;;x"),
	      "\030^\\^]8;;^\\^(B^[0m");
	/* such a character may begin a sequence within another sequence or text; if so, the mode
	 * 1003 is on */
	T_TRUE(strstr(leave_after("\033]0;\302\233?1003h\a"), "^[?1003l") != NULL);
	T_TRUE(strstr(leave_after("\033[9\302\233?1003h"), "^[?1003l") != NULL);
	T_TRUE(strstr(leave_after("\033[?10\302\23303h"), "^[?1003l") != NULL);
	/* these bytes are only parts of letters */
	T_STR(leave_after("\342\200\233?1003h \303\233?1003h \360\237\233\233?1003h"), "");
	T_STR(leave_after("\033]0;\342\200\235\033\\"), "");
}

/* If only some terminals obey a sequence, the mode that it turns off may still be on. */
static void test_what_terminals_read_differently_turns_nothing_off(void)
{
	static const char *const off[] = {
		"\033[1003?l",
		"\033[?1003:l",
		"\033[?1003\nl",
		"\033[?1003\303\250l",
		"\033[?1$003l",
		"\033]0;\033[?1003l",
		"\033P\a\033[?1003l",
		"\033kx\033[?1003l",
		"\033]0;\030\033[?1003l",
		"\033]0;\033\033[?1003l",
		"\033[?0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1003l",
		"\033P\033c",
		"\033[!p\033[?1003r",
	};

	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		AUTO_FREE char *text = xasprintf("\033[?1003h%s", off[i]);

		T_TRUE(strstr(leave_after(text), "^[?1003l") != NULL);
	}
	T_STR(leave_after("\033[?1003h\033]0;\033[?1003l\033\\\033[?1003l"), "");
	T_STR(leave_after("\033[?25l\033[!p"), "^[?25h^(B^[0m");
	T_STR(leave_after("\033[?1049h\033[?47l"), "^[?1049l^(B^[0m");
	T_STR(leave_after("\033[?1003h\033[?1003s\033[?1003l\033[?1003r"), "^[?1003l^(B^[0m");
	T_STR(leave_after("\033[?25s\033[?25r"), "^[?25h^(B^[0m");
}

static void test_an_unfinished_sequence_is_ended(void)
{
	static const char *const open[] = { "\033",    "\033[?10",   "\033]0;x",
					    "\033P\a", "\033_x\030", "\033]0;\033" };

	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		T_STR(leave_after(open[i]), "\030^\\^(B^[0m");
	T_STR(leave_after("\033]0;x\a\033P$qm\033\\"), "");
}

static void test_rare_modes_are_taken_back(void)
{
	T_STR(leave_after("\033[2h\033[12l\033[20h"), "^[2l^[12h^[20l^(B^[0m");
	T_STR(leave_after("\033[2h\033[12l\033[20h\033[2l\033[12h\033[20l"), "");
	T_STR(leave_after("\033[?2l"), "^<^(B^[0m");
	T_STR(leave_after("\033(0"), "^)B\017^(B^[0m");
	T_STR(leave_after("x\016"), "^)B\017^(B^[0m");
	T_STR(leave_after("\033%@\033 G"), "^ F^%G^(B^[0m");
	T_STR(leave_after("\033]8;;http://x\a"), "^]8;;^\\^(B^[0m");
	T_STR(leave_after("\033]88;x\a\033]0;8;\a"), "");
	T_STR(leave_after("\033P1;1|17/6c73\033\\"), "^P0;1|^\\^(B^[0m");
	T_STR(leave_after("\033[1;2'z\033[1$}"), "^[0$}^[0'z^(B^[0m");
	T_STR(leave_after("\033[>1;3m"), "^[>0m^[>1m^[>2m^(B^[0m");
	T_STR(leave_after("\033[38;5;0m"), "^(B^[0m");
}

/* While the alternate screen is shown, a terminal keeps the settings of the ordinary screen. */
static void test_both_screens_are_restored(void)
{
	T_STR(leave_after("\033[31m\033[?1049h\033[0m"), "^[?1049l^(B^[0m");
	T_STR(leave_after("\033[>1u\033[?1049h\033[>3u\033[>5u"), "^[<2u^[?1049l^[<1u^(B^[0m");
	T_STR(leave_after("\033[?1049h\033[>3u\033[?1049l"), "^[?1049h^[<1u^[?1049l^(B^[0m");
	T_STR(enter_after("\033[>1u\033[?1049h"), "^[>1u^[?1049h^[H^[2J");
}

static void test_nonsense_has_no_effect(void)
{
	T_STR(enter_after("\033]2;\033[?1049\a"), "");
	T_STR(enter_after("\033[?10\030"
			  "49h"),
	      "");
	T_STR(enter_after("\033[?99999999999999991049h"), "");
	T_STR(enter_after("\033[1049h"), "");
	T_STR(enter_after("\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;"
			  "1049h"
			  "\033[?1l"),
	      "");
	T_STR(enter_after("\033[?1049\303\251h"), "");
	T_STR(enter_after("\302\233?1049h\233?1000h"), "");
}

static enum screen_event last_event(const char *text)
{
	enum screen_event event = SCREEN_WITHIN;
	struct screen s = { 0 };

	for (; *text; text++)
		event = screen_take(&s, (unsigned char)*text);
	return event;
}

static void test_what_may_be_repeated(void)
{
	static const char *const draw[] = { "\033[3;4H", "\033[K", "\033[0;31m",
					    "\0337",     "\033(0", "\033[J",
					    "\033[5A",   "\033M",  "\033[?K" };
	static const char *const clear[] = { "\033[2J", "\033[H\033[J", "\033[1;1H\033[0J",
					     "\033c" };
	static const char *const other[] = { "\033[c",
					     "\033[>c",
					     "\033[6n",
					     "\033[?6n",
					     "\033[18t",
					     "\033[?2004$p",
					     "\033[>q",
					     "\033]11;?\a",
					     "\033]52;c;?\033\\",
					     "\033P$qm\033\\",
					     "\033_G\033\\",
					     "\033Z",
					     "\005",
					     "\a",
					     "\033[x",
					     "\033[?u",
					     "\033[5i",
					     "\033[3\005A",
					     "\033[\005?K",
					     "\302\233c",
					     "\233c",
					     "\302\232",
					     "\302\220$qm\302\234",
					     "\033\005M",
					     "\340\202\233c" };
	static const char *const within[] = { "\033",      "\033[", "\033[12;", "\033]0;x",
					      "\033P\033", "\033(", "\033(\005" };

	for (size_t i = 0; i < ARRAY_SIZE(draw); i++)
		T_INT(last_event(draw[i]), SCREEN_DRAW);
	for (size_t i = 0; i < ARRAY_SIZE(clear); i++)
		T_INT(last_event(clear[i]), SCREEN_CLEAR);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		T_INT(last_event(other[i]), SCREEN_OTHER);
	for (size_t i = 0; i < ARRAY_SIZE(within); i++)
		T_INT(last_event(within[i]), SCREEN_WITHIN);
	T_INT(last_event("\033[Hx\033[J"), SCREEN_DRAW);
}

static void test_the_longest_text_fits(void)
{
	AUTO_BUF b = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct screen s = { 0 }, again = { 0 };

	s.modes = UINT32_MAX;
	s.undo = UINT64_MAX;
	s.keypad = s.doubt = true;
	s.shape = 6;
	s.other_keys = 2;
	s.pushes[0] = s.pushes[1] = SCREEN_PUSHES_MAX;
	s.key_flags[0] = s.key_flags[1] = SCREEN_NUMBER_MAX;
	screen_enter(&s, &b);
	T_TRUE(!buf_failed(&b));
	screen_feed(&again, b.p, b.n);
	buf_clear(&b);
	screen_leave(&s, &b);
	T_TRUE(!buf_failed(&b));
	screen_feed(&again, b.p, b.n);
	T_INT(again.modes, 0);
	T_INT(again.pushes[0] + again.pushes[1], 0);
	T_TRUE(!again.doubt);
}

int main(void)
{
	T_RUN(test_plain_text_asks_for_nothing);
	T_RUN(test_a_full_screen_program);
	T_RUN(test_old_numbers_of_the_alternate_screen);
	T_RUN(test_several_modes_in_one_sequence);
	T_RUN(test_keyboard_protocols);
	T_RUN(test_control_characters_within_a_sequence);
	T_RUN(test_many_numbers);
	T_RUN(test_resets);
	T_RUN(test_sequences_may_be_cut_anywhere);
	T_RUN(test_control_characters_of_8_bits);
	T_RUN(test_what_terminals_read_differently_turns_nothing_off);
	T_RUN(test_an_unfinished_sequence_is_ended);
	T_RUN(test_rare_modes_are_taken_back);
	T_RUN(test_both_screens_are_restored);
	T_RUN(test_nonsense_has_no_effect);
	T_RUN(test_what_may_be_repeated);
	T_RUN(test_the_longest_text_fits);
	return t_end();
}
