/*
 * Reads the answers of a Box server. The server is not trusted. This code does no I/O, and a fuzzer
 * tests it.
 *
 * An answer repeats the number of its request. Everything else on the connection is ignored: texts
 * that are no JSON, requests, answers with another number, and answers that lack the member `code`
 * or `message`, or whose member `data` is no object.
 */
#pragma once

#include "base/json.h"
#include "service/fault.h"
#include "service/outcome.h"

/* Reads one message. Returns 1 with the document in *RET if the message answers SEQ with success, 0
 * if the message is ignored, or -1 with the failure that the server reports. */
MUST_USE int answer_read(struct str text, int64_t seq, struct json_doc **ret, struct fault *f);
/* Returns the data of an answer. The data is always a JSON object. */
const struct json_value *answer_data(const struct json_doc *answer);
/* Reads a BoxExecutionResult. Fails with a FAULT_BOX if DATA is no such result. */
MUST_USE int answer_read_outcome(const struct json_value *data, struct outcome *ret,
				 struct fault *f);
