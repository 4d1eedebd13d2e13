/* The command `cordon logs`: shows the log entries that exist, and then (with --follow) each new
 * entry. */
#pragma once

#include "logs/filter.h"
#include "logs/render.h"

struct show {
	struct filter filter;
	struct render render;
	uint64_t tail; /* how many of the last entries to show; UINT64_MAX means all */
	/* show new entries until the sandbox stops, stop_fd is readable or the reader of our
	 * output leaves */
	bool follow;
	int stop_fd; /* borrowed, or -1 */
};

/* Prints to stdout. RECORD_DIR is the sandbox's directory. Also succeeds if the reader of our
 * output leaves. */
MUST_USE int show_logs(struct show *s, int record_dir, struct err *e);
