/*
 * Shows the screen of a command to a terminal that has just been attached.
 *
 * Pid 1 sends the last part of the command's output, and the terminal modes that the program has
 * switched on (wire/background.h). From this output we show the last lines of the ordinary screen,
 * and everything that no client got before. We do not show what the program drew on the alternate
 * screen, because the program draws it again. We also leave out control sequences that a terminal
 * answers. The answers would become input of the program, which does not expect them.
 *
 * This code uses no descriptor and no clock.
 */
#pragma once

#include "wire/background.h"

/* The longest text that replay_show() adds. */
#define REPLAY_MAX_BYTES (BACKGROUND_OUTPUT_BYTES + SCREEN_TEXT_MAX_BYTES)

struct replay {
	bool waits; /* true from replay_begin() to replay_done() */
	uint64_t kept, fresh;
	struct buf out;
	struct screen now; /* the modes after all of the command's output */
};

/* Begins a replay after pid 1 has sent M. M is needed only during the call. */
void replay_begin(struct replay *r, const struct attached_message *m);
/* Takes the next N bytes of the output that pid 1 kept. */
void replay_add(struct replay *r, const char *p, size_t n);
/* Returns true if all the output that pid 1 announced has come. */
bool replay_is_complete(const struct replay *r);
/* Adds the text for a terminal with ROWS rows to TEXT. Sets *S to the modes that the terminal
 * has after this text. */
void replay_show(struct replay *r, unsigned rows, struct screen *s, struct buf *text);
void replay_done(struct replay *r);
