/*
 * Messages over a pair of pipes: one JSON text per line. The peer cannot read long lines, so a long
 * message is sent as a sequence of lines:
 *
 *   {"type":"chunk_start","total_size":40012}
 *   {"type":"chunk_data","data":"<a piece of the text>","offset":0}
 *   {"type":"chunk_end"}
 *
 * This file uses no descriptors. Lines that are no JSON object are skipped, because libraries of
 * the peer also print to stdout.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define STDIO_MESSAGE_MAX_BYTES (16u << 20)
/* the most bytes of a message in one line, before they are escaped */
#define STDIO_PIECE_MAX_BYTES 16384u
#define STDIO_PIECES_MAX 4096u

struct stdio_reader {
	struct buf line;    /* a line that has not ended yet */
	struct buf message; /* the pieces that have come */
	bool assembling, delivered;
	size_t total; /* bytes of the whole message, as the peer announced */
	unsigned pieces;
};

void stdio_reader_init(struct stdio_reader *r);
void stdio_reader_done(struct stdio_reader *r);
/* Reads bytes and cuts them off the front of IN. Returns 1 with a message in *RET, 0 if all of IN
 * was read, or -EPROTO if the connection must be dropped. *RET is valid until the next call, or
 * until IN's memory is freed. */
MUST_USE int stdio_next(struct stdio_reader *r, struct str *in, struct str *ret);
/* Returns the bytes of memory that the reader holds now. */
size_t stdio_held_bytes(const struct stdio_reader *r);

/* Appends the lines of one message. MESSAGE is JSON on one line. */
void stdio_put(struct buf *b, struct str message);
