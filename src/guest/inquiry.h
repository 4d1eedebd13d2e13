/*
 * Answers questions of clients about commands. The client need not be attached to the command,
 * because the question names the command by its number (wire/background.h). The questions are the
 * frames LIST, LOOK, FEED, and SIGNAL with a number. pid 1 answers LIST with one COMMAND frame for
 * each command, and then PONG. It answers the other questions with one COMMAND frame, or with
 * ERROR.
 *
 * A LOOK may wait for output, for the end, or for room for input. pid 1 keeps a list of at most
 * LOOKS_MAX waiting LOOKs. When a connection is closed, pid 1 drops the LOOKs of this connection.
 */
#pragma once

#include "guest/connection.h"

#define LOOKS_MAX 256u /* enough for all streams of one cordon client */

void inquiry_list(struct connection *c, uint32_t stream);
void inquiry_look(struct connection *c, uint32_t stream, struct str body);
void inquiry_feed(struct connection *c, uint32_t stream, struct str body);
/* Answers a frame SIGNAL with a number. FLAGS are the flags of the frame. */
void inquiry_signal(struct connection *c, uint32_t stream, const struct signal_message *m,
		    unsigned flags);

/* Call this function when something about the command with number ID has changed. Answers the LOOKs
 * that waited for this change. */
void looks_answer(struct guest *g, uint64_t id);
/* Answers the LOOKs of C that were postponed because too many bytes were queued for the client. */
void looks_resume(struct connection *c);
/* Drops the waiting LOOKs of C. */
void looks_drop(struct connection *c);
