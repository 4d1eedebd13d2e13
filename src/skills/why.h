/*
 * The reason why an operation on skills failed, as the peer reads it.
 *
 * The text may list paths and may have 4096 characters. A struct err (base/err.h) is too small for it, so the
 * functions in src/skills return -1 and fill a struct why.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* The server shows 4096 characters, of at most 4 bytes each. A text with one more character shows the server that
 * the text was longer. */
#define WHY_MAX_BYTES (4u * 4097u)

#define WHY_VALUE "ValueError" /* the request asks for something that is not possible */
#define WHY_KEY "KeyError"     /* a field of the request is missing */
#define WHY_OS "OSError"       /* a system call failed */

struct why {
	const char *class; /* one of the three above */
	/* true if the operation needs a directory that this worker has not opened */
	bool elsewhere;
	struct buf text;
};

// clang-format off
#define WHY_INIT { .class = WHY_VALUE, .text = BUF_INIT(WHY_MAX_BYTES) }
// clang-format on
#define AUTO_WHY __attribute__((cleanup(why_done))) struct why

void why_done(struct why *y);
/* These functions set the text and return -1. Text beyond WHY_MAX_BYTES is cut off. why_sys() also adds the message
 * for ERRNUM. */
int why_set(struct why *y, const char *fmt, ...) PRINTF_LIKE(2, 3);
int why_sys(struct why *y, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds to the text. */
void why_add(struct why *y, const char *text);
/* Adds text from a peer, which may contain NULs. */
void why_add_str(struct why *y, struct str text);
