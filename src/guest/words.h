/* The words of a command, which the answer to the frame LIST shows: as many words as fit into
 * BACKGROUND_WORDS_MAX_BYTES, each with a terminator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct words {
	char *p; /* NULL if there are no words */
	size_t n;
	/* not all words fit: the last word may be cut, and further words may be missing */
	bool cut;
};

/* Copies the words of ARGV, which ends with NULL. */
void words_take(struct words *w, const char *const *argv);
void words_copy(struct words *w, const struct words *from);
void words_done(struct words *w);
