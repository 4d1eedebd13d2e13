/*
 * Errors that functions pass up to their callers. No error needs an allocation.
 *
 * A function that knows what the user wants to do returns 0 or -1. If the function fails, it fills
 * a struct err on the stack of its caller. The caller decides by the error code what to do; the
 * text is for people. A small helper cannot know what the user wants to do. It returns -errno and
 * takes no struct err.
 */
#pragma once

#include <stdbool.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Ignores a result on purpose; write the reason next to it. */
#define IGNORE(call)        \
	do {                \
		if (call) { \
		}           \
	} while (0)

enum err_code {
	ERR_NONE,
	ERR_USAGE,     /* the command line is wrong: an unknown flag, or flags that conflict */
	ERR_INVALID,   /* the option is known, but its value is not acceptable */
	ERR_NOT_FOUND, /* the named object does not exist */
	ERR_EXISTS,    /* the name is taken */
	ERR_BUSY,      /* the state of the object forbids the operation: it is running or in use */
	ERR_NOT_RUNNING, /* the operation needs a running sandbox */
	ERR_DENIED,      /* the host or its policy forbids the operation */
	ERR_LIMIT,       /* a limit of cordon or the host was reached; the text names the limit */
	ERR_UNSUPPORTED, /* the request is valid, but cordon or this host cannot do it */
	ERR_TIMEOUT,     /* a deadline passed */
	ERR_PROTOCOL,    /* a peer broke the protocol, or data is damaged */
	ERR_SYSTEM,      /* a system call failed; err.sys says how */
	ERR_CODE_COUNT
};

#define ERR_MSG_BYTES 480 /* one paragraph on a terminal; a longer text is cut */

struct err {
	enum err_code code;
	int sys;          /* the errno of the failure, or 0 */
	const char *hint; /* static text that tells the user what to do, or NULL */
	char msg[ERR_MSG_BYTES];
};

/* Each function returns -1, so that its caller can end with `return err_set(e, …);`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_sys(struct err *e, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts "context: " in front of the text. The members code, sys and hint stay unchanged. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds a line that tells the user what to do. HINT must be static. */
int err_hint(struct err *e, const char *hint);

/* Only these two functions turn codes into exit statuses and into words that front ends show. */
int err_exit_status(enum err_code code);
const char *err_code_name(enum err_code code);
