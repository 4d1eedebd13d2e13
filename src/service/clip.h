/*
 * Shortens a long text for a model: the beginning and the end stay, and a notice between them says
 * how many characters are missing. The result never has more characters than the limit. If the
 * limit leaves no room for text besides the notice, only the notice stays, cut to the limit.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define CLIP_DEFAULT_CHARS 4000

/* Appends TEXT to OUT, shortened to LIMIT characters (code points). Returns true if a part was left
 * out. */
bool clip_text(struct str text, int64_t limit, struct buf *out);
