#include "endpoint/answer.h"

#include <string.h>

#include "base/cleanup.h"

const struct json_value *answer_data(const struct json_doc *answer)
{
	return json_get(json_root(answer), "data");
}

int answer_read(struct str text, int64_t seq, struct json_doc **ret, struct fault *f)
{
	AUTO_JSON doc = NULL;
	const struct json_value *v, *number, *code, *message, *data;
	struct err e;

	if (json_parse_lenient(text.p, text.n, &doc, &e) < 0)
		return 0;
	v = json_root(doc);
	number = json_get(v, "seq_id");
	code = json_get(v, "code");
	message = json_get(v, "message");
	data = json_get(v, "data");
	if (!number || number->type != JSON_INT || number->integer != seq || !code ||
	    code->type != JSON_INT || !message || message->type != JSON_STRING || !data ||
	    data->type != JSON_OBJECT)
		return 0;
	if (code->integer != 0)
		return fault_from_message(f, message->string);
	*ret = TAKE(doc);
	return 1;
}

/* Adds the text of the member KEY, such as "stdout", to OUT. If the text is longer than OUT allows,
 * cuts it. A missing or null member counts as no text. Returns false if the member has another
 * type. */
static bool take_stream(const struct json_value *data, const char *key, struct buf *out)
{
	const struct json_value *v = json_get(data, key);
	bool bad;
	size_t n;

	if (!v || v->type == JSON_NULL)
		return true;
	if (v->type != JSON_STRING)
		return false;
	n = v->string.n;
	if (n > out->max)
		n = utf8_prefix(v->string.p, out->max, &bad);
	buf_add(out, v->string.p, n);
	return true;
}

int answer_read_outcome(const struct json_value *data, struct outcome *ret, struct fault *f)
{
	const char *id = json_get_str(data, "session_id", NULL);
	const char *status = json_get_str(data, "status", NULL);
	const char *backend = json_get_str(data, "backend_name", NULL);
	const struct json_value *code = json_get(data, "exit_code");
	int64_t took = json_get_int(data, "duration_ms", 0);
	bool timed_out = status && strcmp(status, "timed_out") == 0;

	if (!id || !status || !backend || took < 0 ||
	    (!timed_out && (!code || code->type != JSON_INT)) ||
	    !take_stream(data, "stdout", &ret->out) || !take_stream(data, "stderr", &ret->err))
		return fault_set(f, FAULT_BOX, "the Box runtime answered with no execution result");
	ret->session_id = xstrdup(id);
	ret->backend = xstrdup(backend);
	ret->timed_out = timed_out;
	ret->exit_code = timed_out ? 0 : code->integer;
	ret->duration_ms = (uint64_t)took;
	return 0;
}
