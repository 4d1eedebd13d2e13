#include "pull/say.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

#define SAY_TIME_FROM_NS (500 * NS_PER_MS)

void say_done(const char *verb, const char *target, const char *note, uint64_t elapsed_ns)
{
	fprintf(stderr, "   ✓ %-12s %s", verb, target);
	if (note)
		fprintf(stderr, " (%s)", note);
	else if (elapsed_ns > SAY_TIME_FROM_NS)
		fprintf(stderr, " (%.1fs)", (double)elapsed_ns / (double)NS_PER_SEC);
	fputc('\n', stderr);
}

void say_failed(const char *verb, const char *target)
{
	fprintf(stderr, "   ✗ %-12s %s\n", verb, target);
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("warn: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

int say_error(const struct err *e)
{
	fprintf(stderr, "error: %s\n", e->msg);
	if (e->hint)
		fprintf(stderr, "  → %s\n", e->hint);
	return err_exit_status(e->code);
}
