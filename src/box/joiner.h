/*
 * Joins the parts of a legacy peer's message: the peer cuts a long JSON text into several WebSocket messages of 64 KiB.
 * Parts are joined until the brackets of the JSON object are closed.
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
/* Adds one WebSocket message. Returns 1 with the text in *RET if the object is complete, 0 if more parts are needed, or
 * -EPROTO beyond JOINER_MESSAGE_MAX_BYTES. The text may be PART itself. It is valid until the next call, or until PART
 * is freed. */
MUST_USE int joiner_add(struct joiner *j, struct str part, struct str *ret);
/* Returns the bytes of memory that the joiner holds now. */
size_t joiner_held_bytes(const struct joiner *j);
