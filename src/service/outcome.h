/* How a model's command ended. Every runtime fills a struct outcome. outcome_write() turns the
 * struct into the result that the model gets. */
#pragma once

#include "base/buf.h"
#include "base/json.h"

/* The limit of the text `preview`, and also of the results of the tools for files. */
#define OUTCOME_PREVIEW_MAX_BYTES 51200u

struct outcome {
	char *session_id, *backend;
	bool timed_out;
	int64_t exit_code; /* has no meaning if the command timed out */
	struct buf out, err;
	uint64_t duration_ms;
};

void outcome_init(struct outcome *o);
void outcome_done(struct outcome *o);
/* Writes the result as an object. Shortens the text of each stream to LIMIT characters. If PREVIEW
 * is true, the object also has one text with both streams, of at most OUTCOME_PREVIEW_MAX_BYTES.
 * The model reads this text first. */
void outcome_write(const struct outcome *o, int64_t limit, bool preview, struct json_writer *w);
