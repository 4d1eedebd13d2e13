/*
 * The search of the tool `grep`: it finds the lines that match an expression in the files below a
 * directory. Limits end a long search.
 *
 * An expression is matched against one line at a time. A byte that is not UTF-8 matches nothing,
 * and is shown as U+FFFD.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define GREP_MATCHES_MAX 200u
#define GREP_FILES_MAX 5000u
#define GREP_RESULT_MAX_BYTES 51200u
#define GREP_LINE_SHOWN_CHARS 500u
#define GREP_LINE_MAX_BYTES 1048576u /* how much of a line is searched */
#define GREP_FILE_MAX_BYTES 10485760u
#define GREP_TOTAL_MAX_BYTES 52428800u
#define GREP_REGEX_NS 250000000u /* time for all matches of one search together */

/* Searches FD and closes FD. FD is a directory, a regular file, or a pipe with a stream of files
 * (search/stream.h). INCLUDE is a pattern of file names, or "". Writes an object with `matches` and
 * `truncated_by`. Each match has the path of its file: the path below FD ("" for FD itself), or the
 * path that the stream gives. Fails with ERR_INVALID for a bad expression, and with ERR_TIMEOUT for
 * an expression that takes too long. */
MUST_USE int grep_run(int fd, const char *expression, const char *include, struct json_writer *w,
		      struct err *e);
