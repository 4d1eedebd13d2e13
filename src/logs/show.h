/* All of `cordon logs`: shows the records that exist, then follows new ones. */
#pragma once

#include "logs/filter.h"
#include "logs/render.h"

struct show {
	struct filter filter;
	struct render render;
	uint64_t tail; /* how many of the last records to show; UINT64_MAX means all */
	bool follow; /* show new records until the sandbox stops, STOP_FD is readable or our reader leaves */
	int stop_fd; /* borrowed, or -1 */
};

/* Prints to stdout. RECORD_DIR is the sandbox's directory. Also succeeds if the reader of our
 * output leaves. */
MUST_USE int show_logs(struct show *s, int record_dir, struct err *e);
