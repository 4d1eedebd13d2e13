/*
 * Messages over a pair of pipes: one JSON text per line. A long message is a sequence of lines,
 *
 *   {"type":"chunk_start","total_size":40012}
 *   {"type":"chunk_data","data":"<a piece of the text>","offset":0}
 *   {"type":"chunk_end"}
 *
 * because the peer's reader breaks on long lines. Pure state: no descriptors. Lines that are no JSON
 * object are skipped, since libraries of the peer print to stdout too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define STDIO_MESSAGE_MAX_BYTES (16u << 20)
#define STDIO_PIECE_MAX_BYTES 16384u /* of a message in one line, before it is escaped */
#define STDIO_PIECES_MAX 4096u

struct stdio_reader {
	struct buf line;    /* the beginning of a line */
	struct buf message; /* the pieces so far */
	bool assembling, delivered;
	size_t total; /* bytes that the message shall have */
	unsigned pieces;
};

void stdio_reader_init(struct stdio_reader *r);
void stdio_reader_done(struct stdio_reader *r);
/* Cuts what it reads off the front of IN: 1 and a message, which is valid until the next call or until
 * IN's memory goes; 0 when all of IN was read; -EPROTO when the connection must be dropped. */
MUST_USE int stdio_next(struct stdio_reader *r, struct str *in, struct str *ret);
/* Bytes of memory that the reader holds at the moment. */
size_t stdio_held_bytes(const struct stdio_reader *r);

/* Appends the lines of one message, which is JSON on one line. */
void stdio_put(struct buf *b, struct str message);
