#include "wire/screen.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

#define ESC 0x1b
#define BEL 0x07
#define ENQ 0x05
#define CAN 0x18
#define SUB 0x1a
#define SO 0x0e
/* Every terminal reads this many numbers in one sequence. Only some read more. */
#define COMMON_NUMBERS_MAX 16u

enum state {
	GROUND,
	ESCAPE,        /* after ESC */
	ESCAPE_MIDDLE, /* after ESC and an intermediate byte */
	CONTROL,       /* after ESC [ */
	STRING,        /* within the text of OSC, DCS, SOS, PM or APC */
	STRING_ESCAPE, /* after ESC within such a text */
};

/* The modes of "ESC [ ? NUMBER h" and "… l". */
static const struct mode {
	uint16_t number;
	bool on; /* terminals have the mode on by default */
	/* screen_leave() resets the mode, but screen_enter() does not set it again */
	bool transient;
} modes[] = {
	// clang-format off
	{ 1049, false, false }, /* alternate screen; must be the first */
	{ 1,    false, false }, /* cursor keys of applications */
	{ 5,    false, true  }, /* reverse video */
	{ 6,    false, true  }, /* the cursor stays in the scrolling region */
	{ 7,    true,  false }, /* text wraps at the margin */
	{ 8,    true,  true  }, /* a key that is held repeats */
	{ 9,    false, false }, /* mouse: clicks, in the oldest form */
	{ 25,   true,  false }, /* the cursor is visible */
	{ 45,   false, true  }, /* the cursor goes back over the left margin */
	{ 66,   false, true  }, /* application keypad, by another name */
	{ 67,   false, true  }, /* the backspace key sends another character */
	{ 69,   false, true  }, /* left and right margins */
	{ 1000, false, false }, /* mouse: clicks */
	{ 1001, false, true  }, /* mouse: the terminal waits for an answer to each click */
	{ 1002, false, false }, /* mouse: drags */
	{ 1003, false, false }, /* mouse: every move */
	{ 1004, false, false }, /* events when the window gets the focus */
	{ 1005, false, false }, /* forms of mouse events */
	{ 1006, false, false },
	{ 1015, false, false },
	{ 1016, false, false },
	{ 2004, false, false }, /* pasted text is marked */
	{ 2026, false, true  }, /* the terminal shows nothing new until the mode ends */
	{ 2031, false, false }, /* events when the colours change */
	{ 2048, false, false }, /* events when the size changes */
	{ 9001, false, true  }, /* every key is sent as a sequence */
	// clang-format on
};
#define ALTERNATE 1u
static_assert(ARRAY_SIZE(modes) < 32, "a mode has no bit");

/* The changes besides modes that screen_leave() takes back. Their bits in `undo` come after the 32
 * bits for modes. */
enum extra {
	KEYPAD,
	INSERT,
	LOCKED,
	ECHOES,
	NEW_LINES,
	REGION,
	SHAPE,
	OTHER_KEYS,
	KEYS,
	CONTROLS,
	CODING,
	LETTERS,
	STATUS_LINE,
	LOCATOR,
	FUNCTION_KEYS,
	LINK,
	COLOUR,
	OLD_TERMINAL,
	EXTRAS,
};

/* Each row has the sequence that takes a change back. The comment beside it describes the
 * change. */
static const char *const extras[EXTRAS] = {
	[KEYPAD] = "\033>",
	[INSERT] = "\033[4l",     /* new text moves old text to the right */
	[LOCKED] = "\033[2l",     /* the keyboard is locked */
	[ECHOES] = "\033[12h",    /* the terminal shows what is typed */
	[NEW_LINES] = "\033[20l", /* the return key sends two characters */
	/* only a part of the screen scrolls; the undo saves and restores the cursor's place,
	 * because "ESC [ r" moves the cursor */
	[REGION] = "\0337\033[r\0338",
	[SHAPE] = "\033[0 q",
	[OTHER_KEYS] = "\033[>4;0m",         /* what ordinary keys send with Control or Alt */
	[KEYS] = "\033[>0m\033[>1m\033[>2m", /* the same for cursor and function keys */
	[CONTROLS] = "\033 F",               /* keys send control characters of 8 bits */
	[CODING] = "\033%G",                 /* text is not UTF-8 */
	[LETTERS] = "\033)B\017",            /* line drawing instead of letters */
	[STATUS_LINE] = "\033[0$}",          /* text goes to the status line */
	[LOCATOR] = "\033[0'z",              /* mouse events in the form of DEC's terminals */
	[FUNCTION_KEYS] = "\033P0;1|\033\\", /* function keys type a text of the program */
	[LINK] = "\033]8;;\033\\",           /* text is a link to an address */
	[COLOUR] = "",                       /* screen_leave() resets the colour in any case */
	/* the terminal acts as a VT52; screen_leave() begins with the undo of this */
	[OLD_TERMINAL] = "",
};
#define EXTRA_BIT(x) (UINT64_C(1) << (32 + (x)))
static_assert(EXTRAS <= 32, "an extra has no bit");

bool screen_is_alternate(const struct screen *s)
{
	return s->modes & ALTERNATE;
}

/* Returns true if every terminal reads the current sequence in the same way. */
static bool is_plain(const struct screen *s)
{
	return !s->odd && !s->doubt && s->n_numbers <= COMMON_NUMBERS_MAX;
}

static void mark(struct screen *s, uint64_t bit, bool on)
{
	if (on)
		s->undo |= bit;
	else if (is_plain(s))
		s->undo &= ~bit;
}

/* --- what sequences mean --------------------------------------------------------------------- */

/* Returns the I-th number of the sequence, or OTHERWISE if this number is missing or 0. */
static unsigned number(const struct screen *s, unsigned i, unsigned otherwise)
{
	return i < s->n_numbers && s->number[i] ? s->number[i] : otherwise;
}

static void set_mode(struct screen *s, unsigned wanted, bool on)
{
	/* 47 and 1047 are older numbers for the alternate screen, and some terminals do not know
	 * them. So if a program turns one of them off, a terminal may still show the alternate
	 * screen, and the undo must stay */
	bool old_name = wanted == 47 || wanted == 1047;

	if (old_name)
		wanted = modes[0].number;
	if (wanted == 2 && !on)
		mark(s, EXTRA_BIT(OLD_TERMINAL), true);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (modes[i].number == wanted) {
			bool differs = on != modes[i].on;

			s->modes &= ~(1u << i);
			s->modes |= differs ? 1u << i : 0;
			if (differs || !old_name)
				mark(s, 1u << i, differs);
		}
}

static void set_ansi_mode(struct screen *s, unsigned wanted, bool on)
{
	switch (wanted) {
	case 2:
		mark(s, EXTRA_BIT(LOCKED), on);
		break;
	case 4:
		mark(s, EXTRA_BIT(INSERT), on);
		break;
	case 12:
		mark(s, EXTRA_BIT(ECHOES), !on);
		break;
	case 20:
		mark(s, EXTRA_BIT(NEW_LINES), on);
		break;
	default:
		break;
	}
}

/* Called if only some terminals obey the current sequence, or if the sequence restores modes that
 * the terminal saved. Makes screen_leave() take back all modes that this sequence names. */
static void suspect_modes(struct screen *s)
{
	uint32_t known = s->modes;

	s->odd = true;
	for (unsigned i = 0; i < s->n_numbers; i++)
		for (int on = 0; on <= 1; on++) {
			set_mode(s, s->number[i], on);
			set_ansi_mode(s, s->number[i], on);
		}
	s->modes = known;
}

/* Called when a terminal may have changed any mode. Makes screen_leave() take all modes back. */
static void suspect_all(struct screen *s)
{
	s->undo |= (1u << ARRAY_SIZE(modes)) - 1;
	s->undo |= EXTRA_BIT(INSERT) | EXTRA_BIT(LOCKED) | EXTRA_BIT(ECHOES) | EXTRA_BIT(NEW_LINES);
}

static enum screen_event set_modes(struct screen *s, bool on)
{
	for (unsigned i = 0; i < s->n_numbers; i++) {
		if (s->prefix == '?')
			set_mode(s, s->number[i], on);
		else
			set_ansi_mode(s, s->number[i], on);
	}
	return SCREEN_MODE;
}

static void reset(struct screen *s)
{
	struct screen fresh = { .state = s->state };

	if (!is_plain(s)) {
		fresh.undo = s->undo;
		fresh.doubt = s->doubt;
		memcpy(fresh.pushes, s->pushes, sizeof(fresh.pushes));
	}
	*s = fresh;
}

/* The soft reset changes only a few modes. It keeps the alternate screen and the modes of the
 * mouse. Of what keys send, it resets only the modes of the cursor keys and of the keypad. Some
 * terminals do not know this reset. */
static void reset_softly(struct screen *s)
{
	s->odd = true;
	set_mode(s, 1, false);
	set_mode(s, 6, false);
	set_mode(s, 7, true);
	set_mode(s, 25, true);
	s->keypad = false;
}

/* Only "ESC [ m" and "ESC [ 0 m" take every attribute back. */
static enum screen_event set_colour(struct screen *s)
{
	mark(s, EXTRA_BIT(COLOUR), s->n_numbers > 1 || number(s, 0, 0) != 0);
	return SCREEN_DRAW;
}

static enum screen_event keyboard(struct screen *s)
{
	uint16_t *pushes = &s->pushes[screen_is_alternate(s)];
	uint16_t *flags = &s->key_flags[screen_is_alternate(s)];

	switch (s->prefix) {
	case '>':
		*flags = (uint16_t)number(s, 0, 0);
		if (*pushes < SCREEN_PUSHES_MAX)
			++*pushes;
		return SCREEN_MODE;
	case '<':
		if (is_plain(s))
			*pushes = number(s, 0, 1) < *pushes ? (uint16_t)(*pushes - number(s, 0, 1))
							    : 0;
		return SCREEN_MODE;
	case '=':
		*flags = (uint16_t)number(s, 0, 0);
		if (!*pushes)
			*pushes = 1;
		return SCREEN_MODE;
	case 0: /* the terminal goes back to the cursor that was saved */
		return SCREEN_DRAW;
	default:
		return SCREEN_OTHER;
	}
}

static enum screen_event erase(const struct screen *s)
{
	unsigned what = number(s, 0, 0);

	return what == 2 || what == 3 || (what == 0 && s->homed) ? SCREEN_CLEAR : SCREEN_DRAW;
}

static enum screen_event end_middle(struct screen *s, unsigned char c)
{
	if (s->middle == ' ' && c == 'q' && !s->prefix) {
		s->shape = (uint8_t)(number(s, 0, 0) <= 6 ? number(s, 0, 0) : 0);
		mark(s, EXTRA_BIT(SHAPE), number(s, 0, 0) != 0);
		return SCREEN_MODE;
	}
	if (s->middle == '!' && c == 'p' && !s->prefix) {
		reset_softly(s);
		return SCREEN_MODE;
	}
	if (s->middle == '$' && c == '}')
		mark(s, EXTRA_BIT(STATUS_LINE), number(s, 0, 0) != 0);
	if (s->middle == '\'' && c == 'z')
		mark(s, EXTRA_BIT(LOCATOR), number(s, 0, 0) != 0);
	return SCREEN_OTHER;
}

static enum screen_event set_keys(struct screen *s, bool on)
{
	if (number(s, 0, 0) != 4) {
		mark(s, EXTRA_BIT(KEYS), true);
		return SCREEN_OTHER;
	}
	s->other_keys = (uint8_t)(on && number(s, 1, 0) <= 2 ? number(s, 1, 0) : 0);
	mark(s, EXTRA_BIT(OTHER_KEYS), on && number(s, 1, 0) != 0);
	return SCREEN_MODE;
}

static enum screen_event end_private(struct screen *s, unsigned char c)
{
	if (c == 'u')
		return keyboard(s);
	if (s->prefix == '?' && (c == 'h' || c == 'l'))
		return set_modes(s, c == 'h');
	if (s->prefix == '?' && c == 'r') { /* the terminal restores the modes that it saved */
		suspect_modes(s);
		return SCREEN_MODE;
	}
	if (s->prefix == '?' && (c == 'J' || c == 'K'))
		return SCREEN_DRAW;
	if (s->prefix == '>' && (c == 'm' || c == 'n'))
		return set_keys(s, c == 'm');
	return SCREEN_OTHER;
}

/* Called at the last byte of "ESC [ …". */
static enum screen_event end_control(struct screen *s, unsigned char c)
{
	static const char draws[] = "@ABCDEFGIKLMPSTXZ`abdefs";

	if (s->middle)
		return end_middle(s, c);
	if (s->prefix)
		return end_private(s, c);
	switch (c) {
	case 'H':
		s->homed = number(s, 0, 1) == 1 && number(s, 1, 1) == 1;
		return SCREEN_DRAW;
	case 'J':
		return erase(s);
	case 'm':
		return set_colour(s);
	case 'u':
		return keyboard(s);
	case 'h':
	case 'l':
		return set_modes(s, c == 'h');
	case 'r':
		mark(s, EXTRA_BIT(REGION), s->n_numbers > 0);
		return SCREEN_MODE;
	default:
		return strchr(draws, c) ? SCREEN_DRAW : SCREEN_OTHER;
	}
}

static enum screen_event begin_control(struct screen *s)
{
	s->state = CONTROL;
	s->prefix = s->middle = 0;
	s->n_numbers = 0;
	return SCREEN_WITHIN;
}

/* The text of a sequence begins. KIND says which sequence it is. */
static enum screen_event begin_string(struct screen *s, unsigned char kind)
{
	s->state = STRING;
	s->prefix = kind;
	s->n_numbers = 0;
	return SCREEN_WITHIN;
}

/* Called at the byte after ESC. */
static enum screen_event after_escape(struct screen *s, unsigned char c)
{
	if (c < 0x20 || c >= 0x7f) { /* terminals differ about such a byte; see in_control() */
		s->odd = true;
		s->state = ESCAPE;
		return SCREEN_WITHIN;
	}
	s->state = GROUND;
	switch (c) {
	case '[':
		return begin_control(s);
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		return begin_string(s, c);
	case '\\':
		s->doubt = false;
		return SCREEN_OTHER;
	case 'k': /* in some terminals a title begins here, which ends as the text of OSC does */
		s->doubt = true;
		return SCREEN_OTHER;
	case '=':
	case '>':
		s->keypad = c == '=';
		mark(s, EXTRA_BIT(KEYPAD), s->keypad);
		return SCREEN_MODE;
	case 'c':
		reset(s);
		return SCREEN_CLEAR;
	case 'n':
	case 'o':
		mark(s, EXTRA_BIT(LETTERS), true);
		return SCREEN_OTHER;
	case '7':
	case '8':
	case 'D':
	case 'E':
	case 'M':
		return s->odd ? SCREEN_OTHER : SCREEN_DRAW;
	default:
		break;
	}
	if (c > 0x2f)
		return SCREEN_OTHER;
	s->middle = c;
	s->state = ESCAPE_MIDDLE;
	return SCREEN_WITHIN;
}

static enum screen_event end_escape(struct screen *s, unsigned char c)
{
	bool letters = s->middle >= '(' && s->middle <= '/';

	s->state = GROUND;
	if (letters && !(s->middle == '(' && c == 'B'))
		mark(s, EXTRA_BIT(LETTERS), true);
	if (s->middle == ' ' && c == 'G')
		mark(s, EXTRA_BIT(CONTROLS), true);
	if (s->middle == '%' && c != 'G')
		mark(s, EXTRA_BIT(CODING), true);
	return s->middle >= '(' && s->middle <= '+' && c >= 0x30 && c < 0x7f && !s->odd
		       ? SCREEN_DRAW
		       : SCREEN_OTHER;
}

/* --- the parser ------------------------------------------------------------------------------ */

static void add_digit(struct screen *s, unsigned char c)
{
	unsigned i, v;

	if (s->n_numbers == 0)
		s->number[s->n_numbers++] = 0;
	i = s->n_numbers - 1u;
	v = s->number[i] * 10u + (c - '0');
	s->number[i] = (uint16_t)(v <= SCREEN_NUMBER_MAX ? v : SCREEN_NUMBER_MAX);
}

/* Called at a `;` or `:` in a sequence: begins the next number of the sequence, with the value 0.
 * If s->number is full, sets its last element to SCREEN_NUMBER_MAX instead, a number that no mode
 * of ours has. */
static void next_number(struct screen *s)
{
	if (s->n_numbers == 0)
		s->number[s->n_numbers++] = 0;
	if (s->n_numbers < SCREEN_NUMBERS_MAX)
		s->number[s->n_numbers++] = 0;
	else
		s->number[s->n_numbers - 1] = SCREEN_NUMBER_MAX;
}

static enum screen_event end_odd_control(struct screen *s, unsigned char c)
{
	if (c == 'h' || c == 'l' || c == 'r')
		suspect_modes(s);
	else
		end_control(s, c); /* s->odd is set, so this only adds to what to take back */
	return SCREEN_OTHER;
}

static enum screen_event in_control(struct screen *s, unsigned char c)
{
	bool first = s->n_numbers == 0 && !s->prefix && !s->middle;

	if (c >= 0x40 && c <= 0x7e) {
		s->state = GROUND;
		return s->odd ? end_odd_control(s, c) : end_control(s, c);
	}
	if (c >= '0' && c <= ';')
		s->odd |= s->middle != 0 || c == ':';
	if (c >= '0' && c <= '9') {
		add_digit(s, c);
	} else if (c == ';' || c == ':') {
		next_number(s);
	} else if (c >= '<' && c <= '?') {
		s->odd |= !first;
		s->prefix = c;
	} else if (c >= 0x20 && c <= 0x2f) {
		s->odd |= s->middle != 0;
		s->middle = c;
	} else {
		/* Terminals obey or ignore a control character within a sequence, and then go on
		 * with the sequence. But terminals differ about a byte above 0x7f: some end the
		 * sequence, some ignore the byte, and some take the byte for the last byte of the
		 * sequence. */
		s->odd = true;
		if (c > 0x7f)
			suspect_all(s);
	}
	return SCREEN_WITHIN;
}

/* Takes one of the first bytes of a text, which say what the text does. Two kinds of texts change
 * something that lasts after the text: one begins a link, the other sets what function keys type.
 * Marks these two changes. */
static void in_string_head(struct screen *s, unsigned char c)
{
	if (c >= '0' && c <= '9')
		add_digit(s, c);
	else if (c == ';' && s->prefix == 'P')
		next_number(s);
	else {
		if (s->prefix == ']' && c == ';' && number(s, 0, 0) == 8)
			mark(s, EXTRA_BIT(LINK), true);
		if (s->prefix == 'P' && c == '|')
			mark(s, EXTRA_BIT(FUNCTION_KEYS), true);
		s->prefix = s->prefix == ']' ? ' ' : 0; /* the head is over */
	}
}

/* Takes a byte of a text. The prefix ' ' means the rest of an OSC, and 0 the rest of another
 * text. */
static enum screen_event in_string(struct screen *s, unsigned char c)
{
	if (c == BEL && (s->prefix == ']' || s->prefix == ' ')) {
		s->state = GROUND;
		return SCREEN_OTHER;
	}
	if (s->prefix == ']' || s->prefix == 'P')
		in_string_head(s, c);
	return SCREEN_WITHIN;
}

static enum screen_event take(struct screen *s, unsigned char c)
{
	switch ((enum state)s->state) {
	case GROUND:
		return c == ENQ || c == BEL ? SCREEN_OTHER : SCREEN_TEXT;
	case ESCAPE:
		return after_escape(s, c);
	case ESCAPE_MIDDLE:
		if (c >= 0x20 && c <= 0x2f)
			return SCREEN_WITHIN;
		if (c < 0x20 || c >= 0x7f) {
			s->odd = true;
			return SCREEN_WITHIN;
		}
		return end_escape(s, c);
	case CONTROL:
		return in_control(s, c);
	case STRING:
		return in_string(s, c);
	case STRING_ESCAPE:
		if (c == '\\') {
			s->state = GROUND;
			s->doubt = false;
			return SCREEN_OTHER;
		}
		/* Another sequence begins within the text. Most terminals then end the text and
		 * obey the sequence, and some go on with the text */
		s->odd = s->doubt = true;
		return after_escape(s, c);
	}
	return SCREEN_OTHER;
}

/* Takes a control character of 8 bits. Some terminals obey it as one byte, some as UTF-8. */
static enum screen_event take_wide(struct screen *s, unsigned char c)
{
	if (s->state == CONTROL)
		suspect_all(s);
	s->doubt |= s->state != GROUND;
	s->odd = true;
	s->state = GROUND;
	switch (c) {
	case 0x9b:
		return begin_control(s);
	case 0x90:
	case 0x98:
	case 0x9d:
	case 0x9e:
	case 0x9f:
		s->doubt = true;
		return begin_string(s, c - 0x40);
	default:
		return SCREEN_OTHER;
	}
}

/* Returns true if C is, or completes, a control character of 8 bits. Follows UTF-8, so it must see
 * every byte from 0x80 on, and every byte while S->follow is not 0. */
static bool is_wide_control(struct screen *s, unsigned char c)
{
	if (c < 0x80) {
		s->follow = 0;
		return false;
	}
	if (c < 0xc0 && s->follow) {
		bool too_long = (s->lead == 0xe0 && c < 0xa0) || (s->lead == 0xf0 && c < 0x90);
		bool control = s->lead == 0xc2 || too_long;

		s->follow = too_long ? 0 : (uint8_t)(s->follow - 1);
		s->lead = 0;
		return control && c < 0xa0;
	}
	s->lead = c;
	s->follow = c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 0;
	return c < 0xa0;
}

enum screen_event screen_take(struct screen *s, unsigned char c)
{
	bool was_homed = s->homed, wide = is_wide_control(s, c);
	enum screen_event event;

	if (c == ESC) {
		s->doubt |= s->state == STRING_ESCAPE;
		s->state = s->state == STRING ? STRING_ESCAPE : ESCAPE;
		s->odd = false;
		s->n_numbers = 0;
		return SCREEN_WITHIN;
	}
	if (c == SO)
		mark(s, EXTRA_BIT(LETTERS), true);
	if ((c == CAN || c == SUB) && s->state != GROUND) {
		s->doubt |= s->state == STRING || s->state == STRING_ESCAPE;
		s->state = GROUND;
		return SCREEN_OTHER;
	}
	event = wide ? take_wide(s, c) : take(s, c);
	if (was_homed && (event == SCREEN_TEXT || event == SCREEN_CLEAR))
		s->homed = false;
	return event;
}

/* Returns true if a terminal may wait for the end of a sequence. */
static bool is_open(const struct screen *s)
{
	return s->state != GROUND || s->doubt;
}

bool screen_feed(struct screen *s, const char *p, size_t n)
{
	struct screen before = *s;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		/* skip text of 7 bits: most bytes are such text, and it changes nothing */
		if (s->state != GROUND || s->homed || c >= 0x80 || c == ESC || c == SO || s->follow)
			screen_take(s, c);
	}
	return s->undo != before.undo || is_open(s) != is_open(&before) ||
	       memcmp(s->pushes, before.pushes, sizeof(s->pushes)) != 0;
}

/* --- to and from the modes of a screen ------------------------------------------------------- */

static void add_mode(struct buf *out, size_t i, bool on)
{
	buf_addf(out, "\033[?%u%c", modes[i].number, on ? 'h' : 'l');
}

void screen_enter(const struct screen *s, struct buf *out)
{
	unsigned at = screen_is_alternate(s);

	if (at) {
		if (s->pushes[0])
			buf_addf(out, "\033[>%uu", s->key_flags[0]);
		add_mode(out, 0, true);
		buf_add_str(out, "\033[H\033[2J");
	}
	for (size_t i = 1; i < ARRAY_SIZE(modes); i++)
		if (s->modes & 1u << i && !modes[i].transient)
			add_mode(out, i, !modes[i].on);
	if (s->keypad)
		buf_add_str(out, "\033=");
	if (s->shape)
		buf_addf(out, "\033[%u q", s->shape);
	if (s->other_keys)
		buf_addf(out, "\033[>4;%um", s->other_keys);
	if (s->pushes[at])
		buf_addf(out, "\033[>%uu", s->key_flags[at]);
}

/* Goes back to the ordinary screen. Each of the two screens has keyboard modes of its own. */
static void leave_screens(const struct screen *s, struct buf *out)
{
	if (s->pushes[1]) {
		if (!screen_is_alternate(s))
			add_mode(out, 0, true);
		buf_addf(out, "\033[<%uu", s->pushes[1]);
	}
	if (s->undo & ALTERNATE || s->pushes[1])
		add_mode(out, 0, false);
	if (s->pushes[0])
		buf_addf(out, "\033[<%uu", s->pushes[0]);
}

void screen_leave(const struct screen *s, struct buf *out)
{
	if (!(s->undo || s->pushes[0] || s->pushes[1] || is_open(s)))
		return;
	/* in VT52 mode a terminal knows no other sequence of ours */
	if (s->undo & EXTRA_BIT(OLD_TERMINAL))
		buf_add_str(out, "\033<");
	if (is_open(s))
		buf_add_str(out, "\030\033\\");
	/* When a terminal leaves the alternate screen, it restores the colours and letters that it
	 * saved. So leave the screen before the code below resets colours and letters. */
	leave_screens(s, out);
	for (size_t i = ARRAY_SIZE(modes) - 1; i > 0; i--)
		if (s->undo & 1u << i)
			add_mode(out, i, modes[i].on);
	for (size_t i = 0; i < EXTRAS; i++)
		if (s->undo & EXTRA_BIT(i))
			buf_add_str(out, extras[i]);
	buf_add_str(out, "\033(B\033[0m"); /* letters instead of line drawing, no colour */
}
