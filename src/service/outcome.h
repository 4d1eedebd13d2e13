/* How a command of a model ended. Every runtime fills this struct. outcome_write() makes the model's result from it. */
#pragma once

#include "base/buf.h"
#include "base/json.h"

#define OUTCOME_PREVIEW_MAX_BYTES 51200u /* as in every result of a tool */

struct outcome {
	char *session_id, *backend;
	bool timed_out;
	int64_t exit_code; /* has no meaning if the command timed out */
	struct buf out, err;
	uint64_t duration_ms;
};

void outcome_init(struct outcome *o);
void outcome_done(struct outcome *o);
/* Writes the result as an object. Cuts each stream to LIMIT characters. With PREVIEW the object also has both streams as
 * one text of at most OUTCOME_PREVIEW_MAX_BYTES, which a model reads first. */
void outcome_write(const struct outcome *o, int64_t limit, bool preview, struct json_writer *w);
