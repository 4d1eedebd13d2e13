/*
 * The reason why an operation on skills failed, as the peer reads it.
 *
 * The text may list paths and may have 4096 characters. A struct err (base/err.h) is too small for
 * such a text, so the functions in src/skills fill a struct why and return -1.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* The server shows 4096 characters, of at most 4 bytes each. We keep one character more, so that
 * the server notices that the text is longer. */
#define WHY_MAX_BYTES (4u * 4097u)

#define WHY_VALUE "ValueError" /* the request asks for something that is not possible */
#define WHY_KEY "KeyError"     /* a field of the request is missing */
#define WHY_OS "OSError"       /* a system call failed */

struct why {
	const char *class; /* WHY_VALUE, WHY_KEY or WHY_OS */
	/* true if the operation needs a directory that this worker has not opened */
	bool elsewhere;
	struct buf text;
};

// clang-format off
#define WHY_INIT { .class = WHY_VALUE, .text = BUF_INIT(WHY_MAX_BYTES) }
// clang-format on
#define AUTO_WHY __attribute__((cleanup(why_done))) struct why

void why_done(struct why *y);
/* These functions set the text and the class, and return -1. Text beyond WHY_MAX_BYTES is cut off.
 * why_set() sets the class WHY_VALUE. why_sys() sets WHY_OS, and adds the message for ERRNUM. */
int why_set(struct why *y, const char *fmt, ...) PRINTF_LIKE(2, 3);
int why_sys(struct why *y, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Appends TEXT to the reason. */
void why_add(struct why *y, const char *text);
/* Appends TEXT from a peer to the reason. TEXT may contain NULs. */
void why_add_str(struct why *y, struct str text);
