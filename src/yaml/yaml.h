/*
 * A small, strict part of YAML, turned into JSON.
 *
 * Mappings, sequences and scalars of one document. Whatever makes YAML surprising is refused with
 * line and column: anchors, aliases, tags, directives, merge keys, duplicate keys, several
 * documents, and plain scalars that mean different things to different readers (yes, 0755, 0x1f).
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define YAML_TEXT_MAX_BYTES (1u << 20) /* configuration written by hand */
#define YAML_DEPTH_MAX 32u             /* ours nests four levels deep */
#define YAML_NODES_MAX 100000u
#define YAML_JSON_MAX_BYTES (8u << 20) /* every byte of the text as \u00XX, with room */

/* Appends compact JSON to OUT; "null" for an empty document. ERR_INVALID ("3:5: why") or ERR_LIMIT;
 * OUT holds rubbish after a failure. */
MUST_USE int yaml_to_json(const char *text, size_t n, struct buf *out, struct err *e);
