/*
 * An index of the log entries so far that pass a filter, oldest first. Log files can be large, so
 * the index holds the offset of each entry instead of its text. The index needs 24 bytes for each
 * entry.
 */
#pragma once

#include "logs/filter.h"

#define HISTORY_FILES (EXECLOG_OLD_FILES + 2) /* exec.log, its old files and runtime.log */
#define HISTORY_INDEX_MAX_BYTES (512u << 20)  /* 20 million entries; the files hold fewer */

struct history {
	int fd[HISTORY_FILES]; /* -1 if the file is missing; exec.log is the last but one */
	/* when runtime.log was last written; a line without a time gets this time */
	uint64_t text_ns;
	struct buf index;
	uint64_t end;     /* offset in exec.log of the first entry that is not indexed */
	uint64_t stop_ns; /* when the sandbox last ended */
	/* when the sandbox ended before its last start; older entries use other command numbers */
	uint64_t boot_ns;
};
#define HISTORY_LIVE_FILE (HISTORY_FILES - 2)

/* Reads the log files in LOGS_DIR. Missing files are no error. Call history_done() also after a
 * failure. */
MUST_USE int history_load(struct history *h, int logs_dir, const struct filter *f, struct err *e);
void history_done(struct history *h);
size_t history_count(const struct history *h);
/* Reads entry number I from its file into *X. The slices of *X are valid until BYTES changes.
 * Returns 0 or -errno. */
MUST_USE int history_get(const struct history *h, size_t i, struct buf *bytes, struct entry *x);
