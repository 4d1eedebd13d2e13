/*
 * Remembers which modes a program has set in its terminal: the alternate screen, the form of keys, pasted text and
 * mouse events, the shape of the cursor and so on. A client that attaches later sets the same modes in its own
 * terminal. When the client leaves, it resets them.
 *
 * The parser reads the output of the program byte by byte. The program may be hostile. The parser keeps no text: its
 * state has a fixed size, and every number in the state is bounded. The output may be cut within a sequence: the next
 * call goes on with that sequence. Sequences that the parser does not know have no effect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SCREEN_NUMBERS_MAX \
	32u /* numbers of a sequence that count; common terminals take 16 to 32 */
#define SCREEN_NUMBER_MAX 65535u
#define SCREEN_PUSHES_MAX 16u /* keyboard modes that a program can stack */
/* The longest text of screen_enter() and screen_leave(). A unit test that sets every mode at once proves it. */
#define SCREEN_TEXT_MAX_BYTES 512u

struct screen {
	/* modes */
	uint32_t modes; /* a bit for each row of the table of modes that differs from its default */
	bool keypad;    /* application keypad */
	bool insert;    /* new text moves old text to the right */
	bool region;    /* only a part of the screen scrolls */
	bool coloured;  /* the last text had a colour or another attribute */
	uint8_t shape;  /* of the cursor; 0 is the terminal's own */
	uint8_t other_keys, pushes;
	uint16_t key_flags; /* of the keyboard protocol, while pushes is not 0 */
	/* parser */
	uint8_t state, prefix, middle;
	bool mixed; /* a control character came within the sequence */
	uint8_t n_numbers;
	uint16_t number[SCREEN_NUMBERS_MAX];
	bool homed; /* the cursor was moved to the first place, and nothing was printed since */
};

/* What is complete after the byte that screen_take() was given. */
enum screen_event {
	SCREEN_WITHIN, /* nothing: a sequence goes on */
	SCREEN_TEXT,   /* one byte of text, or a control character that belongs to text */
	SCREEN_DRAW, /* a sequence that only draws: it moves the cursor, erases or chooses a colour */
	SCREEN_CLEAR, /* the whole screen was erased */
	SCREEN_MODE,  /* a mode may have changed */
	/* a sequence that must not be repeated: the terminal would answer it, or it has an effect outside of the screen */
	SCREEN_OTHER,
};

/* Before the first byte the caller zeroes S. */
enum screen_event screen_take(struct screen *s, unsigned char c);
/* Takes N bytes. Returns true if a mode may have changed. */
bool screen_feed(struct screen *s, const char *p, size_t n);
bool screen_is_alternate(const struct screen *s);
/* Adds to OUT the sequences that bring a terminal from its default modes into the modes of S. Adds nothing if S has
 * only default modes. */
void screen_enter(const struct screen *s, struct buf *out);
/* Adds to OUT the sequences that bring a terminal from the modes of S back to its default modes. Adds nothing if S
 * has only default modes. */
void screen_leave(const struct screen *s, struct buf *out);
