/*
 * A failure as a Box peer sees it: "ClassName: text".
 *
 * The peer finds the class by searching the whole message for class names. A fault therefore breaks class names inside
 * of its text, so that no session id can turn one failure into another. The text may quote long input of the peer, so a
 * fault keeps at most FAULT_TEXT_MAX characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define FAULT_TEXT_MAX 4096u /* characters; the protocol's own limit */

enum fault_class {
	FAULT_NONE,
	/* classes that the peer distinguishes */
	FAULT_ADMISSION,
	FAULT_READINESS,
	FAULT_CAPACITY,
	FAULT_VALIDATION,
	FAULT_SESSION_NOT_FOUND,
	FAULT_SESSION_CONFLICT,
	FAULT_PROCESS_NOT_FOUND,
	FAULT_PROCESS_CONFLICT,
	FAULT_BACKEND_UNAVAILABLE,
	/* classes that the peer treats as a general failure */
	FAULT_RUNTIME_UNAVAILABLE,
	FAULT_BOX,
	FAULT_PERMISSION,
	FAULT_VALUE,
	FAULT_KEY,
	FAULT_MODEL, /* "ValidationError": the message is no valid request */
	FAULT_BARE,  /* text without a class */
	FAULT_CLASS_COUNT
};

struct fault {
	enum fault_class class;
	char *text; /* owned; UTF-8 that may hold NULs; NULL only for FAULT_NONE */
	size_t n;
	/* The connection to the runtime failed before anything was sent that must not be sent twice. The caller can
	 * connect and try again. fault_set() and its relatives set this to false. */
	bool again;
};

#define AUTO_FAULT __attribute__((cleanup(fault_done))) struct fault

void fault_done(struct fault *f);
/* Replaces the fault in F. Returns -1, so that a function can end with `return fault_set(…);`. */
int fault_set(struct fault *f, enum fault_class class, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Says that the caller can try again. Returns -1. */
int fault_set_again(struct fault *f);
/* Joins three texts: BEFORE, SUBJECT (a slice of what a peer sent) and BEHIND. BEFORE and BEHIND may be "".
 * Returns -1. */
int fault_about(struct fault *f, enum fault_class class, const char *before, struct str subject,
		const char *behind);
/* Makes a fault of MESSAGE, the failure of a runtime. The fault's class is the first class of the enum above that
 * MESSAGE names, or FAULT_BOX. A class name at the beginning of MESSAGE is cut off. */
int fault_from_message(struct fault *f, struct str message);
/* Moves the fault. FROM is empty afterwards. */
void fault_move(struct fault *to, struct fault *from);

/* Returns, for example, "BoxValidationError", or "" for FAULT_BARE. The relay sends the name as `code` in answers with
 * status 400. */
const char *fault_class_name(enum fault_class class);
/* Appends the whole message: class and text. */
void fault_print(const struct fault *f, struct buf *out);
