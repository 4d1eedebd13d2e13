/*
 * Hides secrets in a text that is kept, such as a failure in the list of errors: API keys, tokens, passwords, private
 * keys, and the ids and numbers of people.
 *
 * A secret of fewer than 18 characters becomes `***`. A longer one keeps its first 6 and its last 4 characters, so that
 * a person can tell which secret it was. The text is not trusted. Texts that only look like a secret are hidden too.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Appends TEXT, which is UTF-8, without its secrets. What is appended is at most three times as long as TEXT. */
void redaction_write(struct str text, struct buf *out);
