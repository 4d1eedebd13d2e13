/*
 * Joins the parts of a message of a legacy peer, which cuts a long JSON text into several WebSocket
 * messages of 64 KiB. Parts are joined while the text so far is an object that is not closed yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define JOINER_MESSAGE_MAX_BYTES (16u << 20)

struct joiner {
	struct buf text;
	size_t depth; /* brackets that are open */
	bool quoted, escaped, delivered;
};

void joiner_init(struct joiner *j);
void joiner_done(struct joiner *j);
/* Takes one WebSocket message: 1 and the text so far when nothing is open in it (PART itself, if it was
 * complete), 0 when more parts are needed, -EPROTO beyond JOINER_MESSAGE_MAX_BYTES. The text is valid
 * until the next call, or until PART's memory goes. */
MUST_USE int joiner_add(struct joiner *j, struct str part, struct str *ret);
/* Bytes of memory that the joiner holds at the moment. */
size_t joiner_held_bytes(const struct joiner *j);
