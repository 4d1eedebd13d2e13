#include "store/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#define SAY_TIME_FROM_NS (500 * NS_PER_MS)
#define SAY_MAX_BYTES (4 * ERR_MSG_BYTES) /* an escaped byte takes four */

/* Writes S with control characters escaped: an archive, a layer or a registry may have put them in. */
static void put_clean(const char *s)
{
	AUTO_BUF b = BUF_INIT(SAY_MAX_BYTES);

	buf_add_clean(&b, s);
	fputs(buf_str(&b), stderr);
}

void say_done(const char *verb, const char *target, const char *note, uint64_t elapsed_ns)
{
	fprintf(stderr, "   ✓ %-12s ", verb);
	put_clean(target);
	if (note)
		fprintf(stderr, " (%s)", note);
	else if (elapsed_ns > SAY_TIME_FROM_NS)
		fprintf(stderr, " (%.1fs)", (double)elapsed_ns / (double)NS_PER_SEC);
	fputc('\n', stderr);
}

void say_failed(const char *verb, const char *target)
{
	fprintf(stderr, "   ✗ %-12s ", verb);
	put_clean(target);
	fputc('\n', stderr);
}

static void put(const char *before, const char *text)
{
	fputs(before, stderr);
	put_clean(text);
	fputc('\n', stderr);
}

void say_warning(const char *fmt, ...)
{
	char text[ERR_MSG_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put("warn: ", text);
}

int say_error(const struct err *e)
{
	put("error: ", e->msg);
	if (e->hint)
		put("  → ", e->hint);
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
