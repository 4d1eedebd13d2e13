/*
 * Joins the parts of a legacy peer's message. Such a peer cuts a long JSON text into several
 * WebSocket messages of 64 KiB. The joiner adds parts until all brackets of the JSON object are
 * closed.
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
/* Adds one WebSocket message. Returns 1 with the text in *RET if the object is complete, or 0 if
 * more parts are needed. If no object has begun and PART does not begin with '{', returns 1 with
 * PART itself. Returns -EPROTO if the text is longer than JOINER_MESSAGE_MAX_BYTES. *RET may point
 * into PART, so the text is valid until the next call or until the caller frees PART. */
MUST_USE int joiner_add(struct joiner *j, struct str part, struct str *ret);
/* Returns the bytes of memory that the joiner holds now. */
size_t joiner_held_bytes(const struct joiner *j);
