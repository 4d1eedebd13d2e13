/*
 * Log lines of our programs. A program writes no log lines unless the user asks for them. Each
 * event is one line on stderr. The stderr of a background program is a file. A line holds names and
 * numbers, never values of variables, input or output.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

extern const char *const log_words[]; /* "error" … "trace", ended by NULL */

/* Sets which lines are written. WORD is one of log_words; NULL means none. COMPONENT is the
 * program's name in the lines, a static string. If DATED is true, each line begins with the
 * time. */
void log_set(const char *word, const char *component, bool dated);
bool log_on(enum log_level level);
/* If LEVEL is on, prints a line such as "debug cordon: TEXT". A byte that could control a terminal
 * appears as '?'. */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
