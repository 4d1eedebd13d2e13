/*
 * Remembers which modes a program has set in its terminal: the alternate screen, the form of keys,
 * pasted text and mouse events, the shape of the cursor and so on. A client that attaches later
 * sets the same modes in its own terminal. When this client leaves, it resets these modes.
 *
 * The parser reads the output of the program byte by byte. The program may be hostile. The parser
 * keeps no text: its state has a fixed size, and every number in the state is bounded. The output
 * may be cut within a sequence: the next call goes on with that sequence.
 *
 * Terminals do not agree on every byte. Some obey control characters of 8 bits, some end a text at
 * ESC, some take more numbers than others. So the parser keeps two things: the modes that most
 * terminals would have now, and every change that at least one terminal may have made. A client
 * that attaches sets these modes (screen_enter()). A client that leaves takes all these changes
 * back (screen_leave()). If terminals read a sequence in different ways, the parser only notes the
 * changes that the sequence may have made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* the most numbers of one sequence that the parser keeps; common terminals take 16 to 32 */
#define SCREEN_NUMBERS_MAX 32u
#define SCREEN_NUMBER_MAX 65535u
/* A terminal has a stack of keyboard modes, and a program can push modes on it. The parser counts
 * at most this many pushed modes. No terminal keeps more. */
#define SCREEN_PUSHES_MAX 4096u
/* The longest text of screen_enter() and screen_leave(). A unit test that sets every mode at once
 * checks this limit. */
#define SCREEN_TEXT_MAX_BYTES 512u

struct screen {
	/* modes */
	/* one bit for each row of the table `modes`; the bit is set if the mode is not at its
	 * default */
	uint32_t modes;
	bool keypad;   /* application keypad */
	uint8_t shape; /* shape of the cursor; 0 is the terminal's own shape */
	uint8_t other_keys;
	/* state of the keyboard protocol: [0] on the ordinary screen, [1] on the alternate
	 * screen */
	uint16_t pushes[2], key_flags[2];
	/* what screen_leave() takes back: a bit for each row of the tables `modes` and `extras` */
	uint64_t undo;
	/* parser */
	uint8_t state, prefix, middle;
	bool odd;   /* terminals read this sequence in different ways */
	bool doubt; /* a terminal may still be within the text of an earlier sequence */
	uint8_t n_numbers;
	uint16_t number[SCREEN_NUMBERS_MAX];
	/* the first byte of a UTF-8 character, and how many of its bytes are still to come */
	uint8_t lead, follow;
	bool homed; /* the cursor was moved to the first place, and nothing was printed since */
};

/* What screen_take() returns: what the byte has completed. */
enum screen_event {
	SCREEN_WITHIN, /* nothing: a sequence goes on */
	SCREEN_TEXT,   /* one byte of text, or a control character that belongs to text */
	/* a sequence that only draws: it moves the cursor, erases or chooses a colour */
	SCREEN_DRAW,
	SCREEN_CLEAR, /* the whole screen was erased */
	SCREEN_MODE,  /* a mode may have changed */
	/* a sequence or control character that must not be repeated: the terminal may answer it, or
	 * it may have an effect outside of the screen */
	SCREEN_OTHER,
};

/* Takes one byte. The caller zeroes S before the first byte. */
enum screen_event screen_take(struct screen *s, unsigned char c);
/* Takes N bytes. Returns true if these bytes change the text that screen_leave() would add. */
bool screen_feed(struct screen *s, const char *p, size_t n);
bool screen_is_alternate(const struct screen *s);
/* Adds to OUT the sequences that bring a terminal from its default modes into the modes of S,
 * except those that the table `modes` calls transient. Adds nothing if S has only default modes. */
void screen_enter(const struct screen *s, struct buf *out);
/* Adds to OUT the sequences that end an unfinished sequence and bring a terminal from the modes of
 * S back to its default modes. Adds nothing if no sequence is unfinished and no change must be
 * taken back. */
void screen_leave(const struct screen *s, struct buf *out);
