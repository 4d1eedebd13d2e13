#include "skills/why.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"

void why_done(struct why *y)
{
	buf_done(&y->text);
}

void why_add_str(struct why *y, struct str text)
{
	size_t room = WHY_MAX_BYTES - y->text.n;

	/* If the text is cut off, the cut may split a character. This does no harm: the server
	 * shows only the first 4096 characters, which end before the cut. */
	buf_add(&y->text, text.p, text.n < room ? text.n : room);
}

void why_add(struct why *y, const char *text)
{
	why_add_str(y, str_of(text));
}

static void set(struct why *y, const char *class, const char *fmt, va_list ap)
{
	AUTO_FREE char *text = xvasprintf(fmt, ap);

	y->class = class;
	buf_clear(&y->text);
	why_add(y, text);
}

int why_set(struct why *y, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(y, WHY_VALUE, fmt, ap);
	va_end(ap);
	return -1;
}

int why_sys(struct why *y, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(y, WHY_OS, fmt, ap);
	va_end(ap);
	why_add(y, ": ");
	why_add(y, strerror(errnum));
	return -1;
}
