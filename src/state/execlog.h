/*
 * The file exec.log holds what commands printed, and messages of cordon itself. Each line is one
 * entry, a JSON object.
 *
 * The process that reads the output of a command also writes the log: a client for its own command,
 * the supervisor for detached commands. Each entry is written by one write() in append mode, so
 * writers need no lock. When the file has grown beyond EXECLOG_MAX_BYTES, a writer takes a lock
 * (flock) and rotates the file. Other writers notice that the name leads to a new file, and open
 * the new file.
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
	int record; /* the directory of the record; borrowed */
	int dir;    /* logs/ of the sandbox, or -1 if it is not open */
	int fd;
	unsigned until_check;   /* entries until the next check whether the file is full */
	size_t unchecked_bytes; /* bytes written since the last check */
	struct buf line;
};

/* RECORD_DIR must stay open until execlog_close(). The files are made when the first entry is
 * added. If the log cannot be opened then, nothing is logged. */
void execlog_open(struct execlog *l, int record_dir);
void execlog_close(struct execlog *l);
/* Adds an entry. ID is the number of the command. ID 0 is for messages of cordon itself and is
 * written as null. */
void execlog_add(struct execlog *l, uint64_t id, enum execlog_source s, const void *p, size_t n);

/* If FILE in LOGS_DIR has at least EXECLOG_MAX_BYTES, renames it to FILE.1. Before that, renames
 * FILE.1 to FILE.2 and so on, up to EXECLOG_OLD_FILES old files. Does nothing if another process
 * holds EXECLOG_ROTATE_LOCK. */
void execlog_rotate(int logs_dir, const char *file);
