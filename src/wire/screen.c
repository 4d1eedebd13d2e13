#include "wire/screen.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"

#define ESC 0x1b
#define BEL 0x07
#define ENQ 0x05
#define CAN 0x18
#define SUB 0x1a

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
	bool on;        /* by default */
	bool transient; /* reset when a client leaves, but not set again for the next client */
} modes[] = {
	// clang-format off
	{ 1049, false, false }, /* alternate screen; must be the first */
	{ 1,    false, false }, /* cursor keys of applications */
	{ 5,    false, true  }, /* reverse video */
	{ 6,    false, true  }, /* the cursor stays in the scrolling region */
	{ 7,    true,  false }, /* text wraps at the margin */
	{ 9,    false, false }, /* mouse: clicks, in the oldest form */
	{ 25,   true,  false }, /* the cursor is visible */
	{ 1000, false, false }, /* mouse: clicks */
	{ 1002, false, false }, /* mouse: drags */
	{ 1003, false, false }, /* mouse: every move */
	{ 1004, false, false }, /* events when the window gets the focus */
	{ 1005, false, false }, /* forms of mouse events */
	{ 1006, false, false },
	{ 1015, false, false },
	{ 1016, false, false },
	{ 2004, false, false }, /* pasted text is marked */
	{ 2026, false, true  }, /* the terminal shows nothing until this ends */
	{ 2031, false, false }, /* events when the colours change */
	{ 2048, false, false }, /* events when the size changes */
	// clang-format on
};
#define ALTERNATE 1u
static_assert(ARRAY_SIZE(modes) <= 32, "a mode has no bit");

bool screen_is_alternate(const struct screen *s)
{
	return s->modes & ALTERNATE;
}

/* --- what sequences mean --------------------------------------------------------------------- */

/* Returns the I-th number, or OTHERWISE if it is missing or 0. */
static unsigned number(const struct screen *s, unsigned i, unsigned otherwise)
{
	return i < s->n_numbers && s->number[i] ? s->number[i] : otherwise;
}

static void set_mode(struct screen *s, unsigned wanted, bool on)
{
	if (wanted == 47 || wanted == 1047)
		wanted = modes[0].number;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (modes[i].number == wanted) {
			s->modes &= ~(1u << i);
			s->modes |= on != modes[i].on ? 1u << i : 0;
		}
}

static enum screen_event set_modes(struct screen *s, bool on)
{
	for (unsigned i = 0; i < s->n_numbers; i++) {
		if (s->prefix == '?')
			set_mode(s, s->number[i], on);
		else if (s->number[i] == 4)
			s->insert = on;
	}
	return SCREEN_MODE;
}

static void reset(struct screen *s)
{
	*s = (struct screen){ .state = s->state };
}

/* The soft reset keeps the screen, the mouse and what the keyboard sends. */
static void reset_softly(struct screen *s)
{
	set_mode(s, 1, false);
	set_mode(s, 6, false);
	set_mode(s, 7, true);
	set_mode(s, 25, true);
	s->keypad = s->insert = s->region = s->coloured = false;
}

/* We take it that attributes are on after the sequence, unless its last number is 0. That is not exact: 39 also
 * resets a colour. If `coloured` is set by mistake, screen_leave() only sends a reset that is not needed. */
static enum screen_event set_colour(struct screen *s)
{
	s->coloured = s->n_numbers > 0 && s->number[s->n_numbers - 1] != 0;
	return SCREEN_DRAW;
}

static enum screen_event keyboard(struct screen *s)
{
	switch (s->prefix) {
	case '>':
		s->key_flags = (uint16_t)number(s, 0, 0);
		if (s->pushes < SCREEN_PUSHES_MAX)
			s->pushes++;
		return SCREEN_MODE;
	case '<':
		s->pushes =
			number(s, 0, 1) < s->pushes ? (uint8_t)(s->pushes - number(s, 0, 1)) : 0;
		return SCREEN_MODE;
	case '=':
		s->key_flags = (uint16_t)number(s, 0, 0);
		if (!s->pushes)
			s->pushes = 1;
		return SCREEN_MODE;
	case 0: /* back to the cursor that was saved */
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
		return SCREEN_MODE;
	}
	if (s->middle == '!' && c == 'p' && !s->prefix) {
		reset_softly(s);
		return SCREEN_MODE;
	}
	return SCREEN_OTHER;
}

static enum screen_event end_private(struct screen *s, unsigned char c)
{
	if (c == 'u')
		return keyboard(s);
	if (s->prefix == '?' && (c == 'h' || c == 'l'))
		return set_modes(s, c == 'h');
	if (s->prefix == '?' && (c == 'J' || c == 'K'))
		return SCREEN_DRAW;
	if (s->prefix == '>' && c == 'm' && number(s, 0, 0) == 4) {
		s->other_keys = (uint8_t)(number(s, 1, 0) <= 2 ? number(s, 1, 0) : 0);
		return SCREEN_MODE;
	}
	if (s->prefix == '>' && c == 'n' && number(s, 0, 0) == 4) {
		s->other_keys = 0;
		return SCREEN_MODE;
	}
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
		s->region = s->n_numbers > 0;
		return SCREEN_MODE;
	default:
		return strchr(draws, c) ? SCREEN_DRAW : SCREEN_OTHER;
	}
}

/* Called at the byte after ESC. */
static enum screen_event after_escape(struct screen *s, unsigned char c)
{
	s->state = GROUND;
	switch (c) {
	case '[':
		s->state = CONTROL;
		s->prefix = s->middle = 0;
		s->mixed = false;
		s->n_numbers = 0;
		return SCREEN_WITHIN;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		s->state = STRING;
		return SCREEN_WITHIN;
	case '=':
	case '>':
		s->keypad = c == '=';
		return SCREEN_MODE;
	case 'c':
		reset(s);
		return SCREEN_CLEAR;
	case '7':
	case '8':
	case 'D':
	case 'E':
	case 'M':
		return SCREEN_DRAW;
	default:
		break;
	}
	if (c < 0x20 || c > 0x2f)
		return SCREEN_OTHER;
	s->middle = c;
	s->state = ESCAPE_MIDDLE;
	return SCREEN_WITHIN;
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

/* If a sequence has more than SCREEN_NUMBERS_MAX numbers, the last one becomes SCREEN_NUMBER_MAX, which has no
 * meaning. */
static void next_number(struct screen *s)
{
	if (s->n_numbers == 0)
		s->number[s->n_numbers++] = 0;
	if (s->n_numbers < SCREEN_NUMBERS_MAX)
		s->number[s->n_numbers++] = 0;
	else
		s->number[s->n_numbers - 1] = SCREEN_NUMBER_MAX;
}

static enum screen_event in_control(struct screen *s, unsigned char c)
{
	if (c >= '0' && c <= '9') {
		add_digit(s, c);
	} else if (c == ';' || c == ':') {
		next_number(s);
	} else if (c >= '<' && c <= '?') {
		s->prefix = c;
	} else if (c >= 0x20 && c <= 0x2f) {
		s->middle = c;
	} else if (c >= 0x40 && c <= 0x7e) {
		enum screen_event event;

		s->state = GROUND;
		event = end_control(s, c);
		return s->mixed && event == SCREEN_DRAW ? SCREEN_OTHER : event;
	} else if (c > 0x7f) {
		s->state = GROUND;
		return SCREEN_OTHER;
	} else {
		/* a terminal obeys or ignores a control character within a sequence, and then goes on with the sequence */
		s->mixed = true;
	}
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
		s->state = GROUND;
		return s->middle >= '(' && s->middle <= '+' && c >= 0x30 && c < 0x7f ? SCREEN_DRAW
										     : SCREEN_OTHER;
	case CONTROL:
		return in_control(s, c);
	case STRING:
		if (c != BEL)
			return SCREEN_WITHIN;
		s->state = GROUND;
		return SCREEN_OTHER;
	case STRING_ESCAPE:
		s->state = GROUND;
		if (c == '\\')
			return SCREEN_OTHER;
		return after_escape(s, c); /* any other sequence ends the string, too */
	}
	return SCREEN_OTHER;
}

enum screen_event screen_take(struct screen *s, unsigned char c)
{
	bool was_homed = s->homed;
	enum screen_event event;

	if (c == ESC) {
		s->state = s->state == STRING ? STRING_ESCAPE : ESCAPE;
		return SCREEN_WITHIN;
	}
	if ((c == CAN || c == SUB) && s->state != GROUND) {
		s->state = GROUND;
		return SCREEN_OTHER;
	}
	event = take(s, c);
	if (was_homed && (event == SCREEN_TEXT || event == SCREEN_CLEAR))
		s->homed = false;
	return event;
}

bool screen_feed(struct screen *s, const char *p, size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		const char *next =
			s->state == GROUND && !s->homed ? memchr(p + i, ESC, n - i) : p + i;
		bool coloured = s->coloured;
		enum screen_event event;

		if (!next) /* only text follows */
			break;
		i = (size_t)(next - p);
		event = screen_take(s, (unsigned char)p[i]);
		changed |= event == SCREEN_MODE || event == SCREEN_CLEAR || s->coloured != coloured;
	}
	return changed;
}

/* --- to and from the modes of a screen ------------------------------------------------------- */

static void add_mode(struct buf *out, size_t i, bool on)
{
	buf_addf(out, "\033[?%u%c", modes[i].number, on ? 'h' : 'l');
}

void screen_enter(const struct screen *s, struct buf *out)
{
	if (screen_is_alternate(s)) {
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
	if (s->pushes)
		buf_addf(out, "\033[>%uu", s->key_flags);
}

void screen_leave(const struct screen *s, struct buf *out)
{
	if (!(s->modes || s->keypad || s->insert || s->region || s->coloured || s->shape ||
	      s->other_keys || s->pushes))
		return;
	if (s->pushes)
		buf_addf(out, "\033[<%uu", s->pushes);
	if (s->other_keys)
		buf_add_str(out, "\033[>4;0m");
	for (size_t i = ARRAY_SIZE(modes) - 1; i > 0; i--)
		if (s->modes & 1u << i)
			add_mode(out, i, modes[i].on);
	if (s->keypad)
		buf_add_str(out, "\033>");
	if (s->insert)
		buf_add_str(out, "\033[4l");
	if (s->region) /* this moves the cursor, so its place is saved before and restored after */
		buf_add_str(out, "\0337\033[r\0338");
	if (s->shape)
		buf_add_str(out, "\033[0 q");
	buf_add_str(out, "\033(B\033[0m"); /* letters instead of line drawing, no colour */
	if (screen_is_alternate(s))
		add_mode(out, 0, false);
}
