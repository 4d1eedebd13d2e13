/*
 * A failure as a Box peer sees it: "ClassName: text".
 *
 * To find the class, the peer looks in the whole message for class names with a colon. So a session
 * id that contains such a name could make the peer see another failure. Therefore, if the text
 * contains such a name of a class that the peer distinguishes, a fault puts a blank before the
 * colon. The text may quote long input of the peer, so a fault keeps at most FAULT_TEXT_MAX
 * characters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define FAULT_TEXT_MAX 4096u /* in characters; the Box protocol prescribes this limit */

enum fault_class {
	FAULT_NONE,
	/* the peer distinguishes these classes */
	FAULT_ADMISSION,
	FAULT_READINESS,
	FAULT_CAPACITY,
	FAULT_VALIDATION,
	FAULT_SESSION_NOT_FOUND,
	FAULT_SESSION_CONFLICT,
	FAULT_PROCESS_NOT_FOUND,
	FAULT_PROCESS_CONFLICT,
	FAULT_BACKEND_UNAVAILABLE,
	/* the peer treats these classes as a general failure */
	FAULT_RUNTIME_UNAVAILABLE,
	FAULT_BOX,
	FAULT_PERMISSION,
	FAULT_VALUE,
	FAULT_KEY,
	FAULT_MODEL, /* "ValidationError": the message is no valid request */
	FAULT_BARE,  /* a message that has no class */
	FAULT_CLASS_COUNT
};

struct fault {
	enum fault_class class;
	char *text; /* owned; UTF-8 that may hold NULs; NULL only for FAULT_NONE */
	size_t n;
	/* True if the connection to the runtime failed before we sent anything that must not be
	 * sent twice. The caller can connect and try again. Functions that set a new fault set this
	 * member to false. */
	bool again;
};

#define AUTO_FAULT __attribute__((cleanup(fault_done))) struct fault

void fault_done(struct fault *f);
/* Replaces the fault in *F. Returns -1, so that a function can end with `return fault_set(…);`. */
int fault_set(struct fault *f, enum fault_class class, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Sets the member `again` of the fault in *F: the caller can connect and try again. Returns -1. */
int fault_set_again(struct fault *f);
/* Replaces the fault in *F. The new text is BEFORE, then SUBJECT (a part of what a peer sent), then
 * BEHIND. BEFORE and BEHIND may be "". Returns -1. */
int fault_about(struct fault *f, enum fault_class class, const char *before, struct str subject,
		const char *behind);
/* Makes a fault from MESSAGE, the error message of a runtime. The classes that the peer
 * distinguishes are tried in the order of enum fault_class. The fault gets the first class whose
 * name, with a colon, is in MESSAGE, or FAULT_BOX if there is none. If MESSAGE begins with the name
 * of the fault's class, this name is cut off. Returns -1. */
int fault_from_message(struct fault *f, struct str message);
/* Moves the fault in *FROM to *TO. *FROM is empty afterwards. */
void fault_move(struct fault *to, struct fault *from);

/* Returns the name of a class, for example "BoxValidationError". For FAULT_BARE the name is "". In
 * an answer with status 400, the relay sends the name as `code`. */
const char *fault_class_name(enum fault_class class);
/* Appends the whole message to OUT: the class and the text. */
void fault_print(const struct fault *f, struct buf *out);
