/*
 * A capture keeps the first bytes that a command prints on one stream, and counts the rest.
 *
 * As a capture grows, it takes bytes from the server's ceiling (service/ceiling.h). When the
 * ceiling is nearly reached, a capture stops before its own limit, and a notice in its text says
 * so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "service/ceiling.h"

#define CAPTURE_LIMIT_BYTES (1u << 20) /* for each stream; the Box protocol prescribes this limit */

struct capture {
	struct ceiling *ceiling; /* borrowed */
	struct buf head;
	size_t taken;     /* bytes taken from the ceiling */
	uint64_t dropped; /* bytes that the command printed but that were not kept */
	bool squeezed;    /* the capture stopped because of the ceiling, before its own limit */
};

void capture_init(struct capture *c, struct ceiling *ceiling, size_t limit);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const void *p, size_t n);
/* Appends the text: trimmed UTF-8, with U+FFFD for bytes that are not UTF-8, and with a notice if
 * bytes were dropped. JSON_MAX limits the bytes of the text as a JSON string, because some peers
 * take only short messages. 0 means no limit. */
void capture_render(const struct capture *c, size_t json_max, struct buf *out);
/* Returns how many bytes capture_render() may append. */
size_t capture_render_max(const struct capture *c);
