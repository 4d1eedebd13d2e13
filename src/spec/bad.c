#include "spec/bad.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* A longer value is cut off in a message, so that there is always room for the reason after the
 * value. */
#define SHOWN_VALUE_BYTES 120

/* Replaces line feeds, because in a message the text after a line feed is shown as advice. */
static void make_one_line(char *s)
{
	while ((s = strchr(s, '\n')))
		*s = ' ';
}

char *bad_beginning(const char *flag, const char *noun, const char *value)
{
	bool cut = strlen(value) > SHOWN_VALUE_BYTES;
	char *s = xasprintf("%s: bad %s '%.*s%s'", flag, noun, SHOWN_VALUE_BYTES, value,
			    cut ? "..." : "");

	make_one_line(s);
	return s;
}

int bad_value(struct err *e, const char *flag, const char *noun, const char *value, const char *why,
	      ...)
{
	AUTO_FREE char *beginning = bad_beginning(flag, noun, value);
	char reason[ERR_MSG_BYTES];
	va_list ap;

	va_start(ap, why);
	vsnprintf(reason, sizeof(reason), why, ap);
	va_end(ap);
	make_one_line(reason);
	return err_set(e, ERR_INVALID, "%s: %s", beginning, reason);
}
