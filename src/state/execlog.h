/*
 * exec.log: what commands printed, one JSON record per line (spec: logs).
 *
 * Whoever reads the output writes the log: clients for their own commands, the supervisor for
 * detached ones. A record is one write in append mode, so writers need no lock; a file that crosses
 * EXECLOG_MAX_BYTES is rotated under flock by whoever notices, and writers reopen when the name
 * means another file.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define EXECLOG_FILE "exec.log"
#define RUNTIME_LOG_FILE "runtime.log" /* the supervisor's own messages, as plain text */
#define EXECLOG_ROTATE_LOCK "rotate.lock"
#define EXECLOG_MAX_BYTES (10u << 20)
#define EXECLOG_OLD_FILES 3

enum execlog_source { LOG_STDOUT, LOG_STDERR, LOG_OUTPUT, LOG_SYSTEM, LOG_NET };
const char *execlog_source_name(enum execlog_source s);

struct execlog {
	int record; /* borrowed */
	int dir;    /* logs/ of the sandbox, or -1: not opened yet, or off */
	int fd;
	unsigned since_check;
	struct buf line;
};

/* RECORD_DIR stays the caller's and open. Files are made at the first record. Never fails: a log
 * that cannot be opened is off. */
void execlog_open(struct execlog *l, int record_dir);
void execlog_close(struct execlog *l);
/* ID 0 is written as null (system records). */
void execlog_add(struct execlog *l, uint64_t id, enum execlog_source s, const void *p, size_t n);

/* Renames FILE of LOGS_DIR away when it has grown beyond EXECLOG_MAX_BYTES: FILE.1 … are older. */
void execlog_rotate(int logs_dir, const char *file);
