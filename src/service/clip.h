/*
 * Cuts a long text for a model: the beginning and the end stay, and a notice between them tells how many characters
 * are missing. The result never has more characters than the limit.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define CLIP_DEFAULT_CHARS 4000

/* Appends TEXT, cut to LIMIT characters (code points). Returns true if something was cut. */
bool clip_text(struct str text, int64_t limit, struct buf *out);
