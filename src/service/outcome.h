/* How a command of a model ended. Every runtime fills this struct. outcome_write() makes the model's result from it. */
#pragma once

#include "base/buf.h"
#include "base/json.h"

struct outcome {
	char *session_id, *backend;
	bool timed_out;
	int64_t exit_code; /* only if the command did not time out */
	struct buf out, err;
	uint64_t duration_ms;
};

void outcome_init(struct outcome *o);
void outcome_done(struct outcome *o);
/* Writes the result. Cuts each stream to LIMIT characters. */
void outcome_write(const struct outcome *o, int64_t limit, struct json_writer *w);
