/* The words of a command as LIST shows them: as many as fit into BACKGROUND_WORDS_MAX_BYTES, each with its terminator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct words {
	char *p; /* NULL: no words */
	size_t n;
	bool cut; /* not all words fit: the last word may be cut, and others may be missing */
};

/* ARGV ends with NULL. */
void words_take(struct words *w, const char *const *argv);
void words_copy(struct words *w, const struct words *from);
void words_done(struct words *w);
