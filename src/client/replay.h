/*
 * Shows the screen of a command to a terminal that has just been attached.
 *
 * Pid 1 sends the last part of the command's output and what the program has asked of its terminal (wire/background.h).
 * Of that output the terminal gets the last lines of the ordinary screen, and everything that no client got before. It
 * does not get what the program drew on the alternate screen, because the program draws that anew. Sequences that a
 * terminal answers are left out as well: the answers would arrive as input of a program that does not wait for them.
 *
 * Pure state: no descriptor, no clock.
 */
#pragma once

#include "wire/background.h"

/* The longest text that replay_show() adds. */
#define REPLAY_MAX_BYTES (BACKGROUND_OUTPUT_BYTES + SCREEN_TEXT_MAX_BYTES)

struct replay {
	bool waits; /* output is still to come */
	uint64_t kept, fresh;
	struct buf out;
	struct screen now; /* the modes after all of the command's output */
};

/* M is borrowed for the call. */
void replay_begin(struct replay *r, const struct attached_message *m);
/* Takes N bytes of kept output. */
void replay_add(struct replay *r, const char *p, size_t n);
/* Returns true if all output has come that pid 1 announced. */
bool replay_is_complete(const struct replay *r);
/* Adds what a terminal with ROWS rows gets. Sets *S to the modes that the terminal has after this text. */
void replay_show(struct replay *r, unsigned rows, struct screen *s, struct buf *text);
void replay_done(struct replay *r);
