#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int exit_status;
} codes[] = {
	// clang-format off
	[ERR_NONE]        = { "none",        0 },
	[ERR_USAGE]       = { "usage",       2 },
	[ERR_INVALID]     = { "invalid",     1 },
	[ERR_NOT_FOUND]   = { "not_found",   1 },
	[ERR_EXISTS]      = { "exists",      1 },
	[ERR_BUSY]        = { "busy",        1 },
	[ERR_NOT_RUNNING] = { "not_running", 1 },
	[ERR_DENIED]      = { "denied",      1 },
	[ERR_LIMIT]       = { "limit",       1 },
	[ERR_UNSUPPORTED] = { "unsupported", 1 },
	[ERR_TIMEOUT]     = { "timeout",     1 },
	[ERR_PROTOCOL]    = { "protocol",    1 },
	[ERR_SYSTEM]      = { "system",      1 },
	// clang-format on
};
static_assert(sizeof(codes) / sizeof(codes[0]) == ERR_CODE_COUNT, "an error code has no row");

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	e->sys = 0;
	e->hint = NULL;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	e->code = errnum == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM;
	e->sys = errnum;
	e->hint = NULL;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(errnum));
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char context[ERR_MSG_BYTES];
	char inner[ERR_MSG_BYTES];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	memcpy(inner, e->msg, sizeof(inner));
	snprintf(e->msg, sizeof(e->msg), "%s", context);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", inner);
	return -1;
}

int err_hint(struct err *e, const char *hint)
{
	e->hint = hint;
	return -1;
}

int err_exit_status(enum err_code code)
{
	return (unsigned)code < ERR_CODE_COUNT ? codes[code].exit_status : 1;
}

const char *err_code_name(enum err_code code)
{
	return (unsigned)code < ERR_CODE_COUNT ? codes[code].name : "unknown";
}
