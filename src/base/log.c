#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#define LINE_MAX_BYTES 1024

const char *const log_words[] = { "error", "warn", "info", "debug", "trace", NULL };

static struct {
	enum log_level level;
	const char *component;
	bool dated;
} state;

void log_set(const char *word, const char *component, bool dated)
{
	state.level = LOG_OFF;
	for (unsigned i = 0; word && log_words[i]; i++)
		if (strcmp(word, log_words[i]) == 0)
			state.level = (enum log_level)(i + 1);
	state.component = component;
	state.dated = dated;
}

bool log_on(enum log_level level)
{
	return level <= state.level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES], now[CLOCK_RFC3339_BYTES] = "";
	size_t n;
	va_list ap;

	if (!log_on(level))
		return;
	if (state.dated)
		clock_rfc3339_ms(clock_real_ns(), now);
	snprintf(line, sizeof(line), "%s%s%s %s: ", now, *now ? " " : "", log_words[level - 1],
		 state.component);
	n = strlen(line);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	for (unsigned char *p = (unsigned char *)line; *p; p++)
		if (*p < 0x20 || *p == 0x7f) {
			*p = '?';
		} else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) { /* U+0080 to U+009F */
			*p++ = '?';
			*p = '?';
		}
	n = strlen(line);
	line[n++] = '\n';
	IGNORE(io_write_all(STDERR_FILENO, line, n)); /* if this fails, the line is lost */
}
