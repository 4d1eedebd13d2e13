#include "pull/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

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

int say_data(const struct buf *b, struct err *e)
{
	int r;

	if (buf_failed(b))
		return err_set(e, ERR_LIMIT, "there is more to show than memory allows");
	r = b->n ? io_write_all(STDOUT_FILENO, b->p, b->n) : 0;
	return r < 0 && r != -EPIPE ? err_sys(e, -r, "write to stdout") : 0;
}
