/*
 * Turns a small, strict part of YAML into JSON.
 *
 * It accepts mappings, sequences and scalars of one document. It refuses the surprising parts of
 * YAML: anchors, aliases, tags, directives, merge keys, duplicate keys, several documents, and
 * plain scalars that different readers read differently (yes, 0755, 0x1f). The error names line and
 * column. With YAML_WORDS every scalar except null becomes a string, so readers cannot differ about
 * a scalar.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

#define YAML_TEXT_MAX_BYTES (1u << 20) /* far more than people write by hand */
#define YAML_DEPTH_MAX 32u             /* our own files nest four levels deep */
#define YAML_NODES_MAX 100000u
#define YAML_JSON_MAX_BYTES (8u << 20) /* room for every byte of the text as \u00XX */

enum yaml_scalars {
	YAML_TYPED, /* numbers, booleans and null keep their types; doubtful scalars are refused */
	YAML_WORDS, /* null stays null; all other scalars become strings */
};

/* Appends compact JSON to OUT; "null" for an empty document. Fails with ERR_INVALID ("3:5: why") or
 * ERR_LIMIT; do not use OUT after a failure. */
MUST_USE int yaml_to_json(const char *text, size_t n, enum yaml_scalars scalars, struct buf *out,
			  struct err *e);
