#include "guest/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/background.h"

void words_take(struct words *w, const char *const *argv)
{
	size_t n = 0;

	*w = (struct words){ 0 };
	for (size_t i = 0; argv[i] && !w->cut; i++) {
		n += strlen(argv[i]) + 1;
		w->cut = n > BACKGROUND_WORDS_MAX_BYTES;
	}
	w->n = w->cut ? BACKGROUND_WORDS_MAX_BYTES : n;
	if (w->n == 0)
		return;
	w->p = xcalloc(1, w->n);
	for (size_t i = 0, at = 0; argv[i] && at < w->n; i++) {
		size_t one = strlen(argv[i]) + 1, room = w->n - at;

		memcpy(w->p + at, argv[i], one < room ? one : room);
		at += one;
	}
	w->p[w->n - 1] = '\0'; /* terminates a word that was cut */
}

void words_copy(struct words *w, const struct words *from)
{
	*w = *from;
	if (!w->n)
		return;
	w->p = xcalloc(1, w->n);
	memcpy(w->p, from->p, w->n);
}

void words_done(struct words *w)
{
	free(w->p);
	*w = (struct words){ 0 };
}
