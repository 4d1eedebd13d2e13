#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

void out_of_memory(void)
{
	static const char text[] = "error: out of memory\n";

	/* if this write fails, there is no other place for the message */
	IGNORE(write(STDERR_FILENO, text, sizeof(text) - 1));
	_exit(err_exit_status(ERR_SYSTEM));
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	char *p;

	n = strnlen(s, n);
	p = xcalloc(1, n + 1);
	memcpy(p, s, n);
	return p;
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *p;

	if (vasprintf(&p, fmt, ap) < 0)
		out_of_memory();
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = xvasprintf(fmt, ap);
	va_end(ap);
	return p;
}
