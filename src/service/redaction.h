/*
 * Hides secrets in a text before the text is stored, for example in the list of errors. Secrets are
 * API keys, tokens, passwords, private keys, and the ids and numbers of people.
 *
 * A secret of fewer than 18 characters becomes `***`. A longer secret keeps its first 6 and its
 * last 4 characters, so that a person can tell which secret it was. The text is not trusted. A word
 * that only looks like a secret is hidden too.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Appends TEXT without its secrets to OUT. TEXT is UTF-8. Appends at most three times as many bytes
 * as TEXT has. */
void redaction_write(struct str text, struct buf *out);
