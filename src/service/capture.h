/*
 * What a command prints on one stream: the first bytes are kept, the rest is counted.
 *
 * A capture grows with what comes and takes its memory from the server's ceiling. When that is nearly
 * used up, a capture stops earlier than its limit, and says so in its text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "service/ceiling.h"

#define CAPTURE_LIMIT_BYTES (1u << 20) /* of one stream, by the Box protocol */

struct capture {
	struct ceiling *ceiling; /* borrowed */
	struct buf head;
	size_t taken;     /* bytes taken from the ceiling */
	uint64_t dropped; /* bytes that came and were not kept */
	bool squeezed;    /* the ceiling, not the limit, stopped it */
};

void capture_init(struct capture *c, struct ceiling *ceiling, size_t limit);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const void *p, size_t n);
/* Appends the text: UTF-8 with U+FFFD for the rest, trimmed, with a notice if something was dropped.
 * JSON_MAX bounds the bytes of the text inside of a JSON string, for peers that take little at once;
 * 0 means no bound. */
void capture_render(const struct capture *c, size_t json_max, struct buf *out);
/* Bytes that OUT of capture_render() must be able to take. */
size_t capture_render_max(const struct capture *c);
