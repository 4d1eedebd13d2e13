/*
 * A capture keeps the first bytes that a command prints on one stream, and counts the rest.
 *
 * A capture takes its memory from the server's ceiling as it grows. When the ceiling is nearly used up, a capture stops
 * before its limit, and its text has a notice about that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "service/ceiling.h"

#define CAPTURE_LIMIT_BYTES (1u << 20) /* per stream; the Box protocol sets this limit */

struct capture {
	struct ceiling *ceiling; /* borrowed */
	struct buf head;
	size_t taken;     /* bytes taken from the ceiling */
	uint64_t dropped; /* bytes that came and were not kept */
	bool squeezed;    /* the ceiling, not the limit, stopped the capture */
};

void capture_init(struct capture *c, struct ceiling *ceiling, size_t limit);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const void *p, size_t n);
/* Appends the text: trimmed UTF-8, with U+FFFD for bytes that are not UTF-8, and with a notice if bytes were dropped.
 * JSON_MAX bounds the bytes that the text takes in a JSON string, because some peers take only short messages. 0 means
 * no bound. */
void capture_render(const struct capture *c, size_t json_max, struct buf *out);
/* Returns how many bytes capture_render() may append. */
size_t capture_render_max(const struct capture *c);
