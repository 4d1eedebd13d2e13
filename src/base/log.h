/*
 * Lines for whoever wants to know what a program of ours does: off unless asked for, one event a line,
 * on stderr (which is a file for those that nobody watches). Values of variables, input and output never
 * go here; names and numbers do.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

extern const char *const log_words[]; /* "error" … "trace", ended by NULL */

/* WORD is one of log_words, or NULL: off. COMPONENT is static; DATED puts the time in front. */
void log_set(const char *word, const char *component, bool dated);
bool log_on(enum log_level level);
/* "debug cordon: TEXT". What could drive a terminal is shown as '?'. */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
