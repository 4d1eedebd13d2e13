/*
 * What any client may ask about commands by their number, without attaching (wire/background.h): LIST, LOOK, FEED and
 * SIGNAL with a number. Answers are COMMAND frames, or ERROR.
 *
 * A LOOK may wait for output, for the end, or for room for input. Pid 1 keeps such questions in a list of its own, at
 * most LOOKS_MAX of them, and drops those of a connection that is closed.
 */
#pragma once

#include "guest/connection.h"

#define LOOKS_MAX 256u /* as many as a client of ours has streams */

void inquiry_list(struct connection *c, uint32_t stream);
void inquiry_look(struct connection *c, uint32_t stream, struct str body);
void inquiry_feed(struct connection *c, uint32_t stream, struct str body);
void inquiry_signal(struct connection *c, uint32_t stream, const struct signal_message *m,
		    bool scope);

/* Something about the command with number ID has changed: answers those who wait for that. */
void looks_answer(struct guest *g, uint64_t id);
/* C is closed. */
void looks_drop(struct connection *c);
