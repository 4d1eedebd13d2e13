/*
 * Hides secrets in a text before the text is stored, for example in the list of errors. Secrets are
 * API keys, tokens, passwords, private keys, the Discord ids of people, and telephone numbers.
 *
 * A secret of fewer than 18 characters becomes `***`. Most longer secrets keep their first 6 and
 * last 4 characters, so that a person can tell which secret it was. A longer secret becomes `***`
 * too if it is the password in a URL, a parameter of a URL or of a web form, the key in the token
 * of a Telegram bot, a Discord id, or a telephone number. A private key becomes
 * `[REDACTED PRIVATE KEY]`. The text is not trusted. A word that only looks like a secret is hidden
 * too.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Appends TEXT without its secrets to OUT. TEXT must be UTF-8. Appends at most three times as many
 * bytes as TEXT has. */
void redaction_write(struct str text, struct buf *out);
