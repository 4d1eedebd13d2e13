#include "box/envelope.h"

void envelope_done(struct envelope_request *r)
{
	if (!r)
		return;
	json_free(r->doc);
	*r = (struct envelope_request){ 0 };
}

static int refuse(struct fault *f, const char *what)
{
	return fault_set(f, FAULT_MODEL, "%s", what);
}

/* Checks the members of a message that has an action and no code. */
static int check_request(const struct json_value *v, struct envelope_request *r, struct fault *f)
{
	const struct json_value *action = json_get(v, "action");

	r->given_seq = json_get(v, "seq_id");
	r->data = json_get(v, "data");
	r->context = json_get(v, "context");
	if (!r->given_seq)
		return refuse(f, "seq_id is required");
	if (r->given_seq->type != JSON_INT)
		return refuse(f, "seq_id must be an integer");
	r->seq = r->given_seq->integer;
	if (action->type != JSON_STRING)
		return refuse(f, "action must be a string");
	r->action = action->string;
	if (!r->data)
		return refuse(f, "data is required");
	if (r->data->type != JSON_OBJECT)
		return refuse(f, "data must be an object");
	if (r->context && r->context->type == JSON_NULL)
		r->context = NULL;
	if (r->context && r->context->type != JSON_OBJECT)
		return refuse(f, "context must be an object");
	return 0;
}

enum envelope_kind envelope_read(struct str text, struct envelope_request *ret, struct fault *f)
{
	struct envelope_request r = { .seq = -1 };
	const struct json_value *v;
	struct err e = { 0 };

	if (json_parse_lenient(text.p, text.n, &r.doc, &e) < 0)
		return ENVELOPE_IGNORED;
	v = json_root(r.doc);
	if (json_get(v, "code") || !json_get(v, "action")) {
		envelope_done(&r);
		return ENVELOPE_IGNORED;
	}
	if (check_request(v, &r, f) < 0) {
		*ret = r;
		return ENVELOPE_REFUSED;
	}
	*ret = r;
	return ENVELOPE_REQUEST;
}

/* --- responses -------------------------------------------------------------------------------- */

static void end_response(struct json_writer *w)
{
	json_key_str(w, "chunk_status", "continue");
	json_end_object(w);
}

void envelope_begin_success(struct json_writer *w, int64_t seq)
{
	json_begin_object(w);
	json_key_int(w, "seq_id", seq);
	json_key_int(w, "code", 0);
	json_key_str(w, "message", "success");
	json_key(w, "data");
}

void envelope_end_success(struct json_writer *w)
{
	end_response(w);
}

/* Completes the response for a failure. The caller has already written the member seq_id. Writes
 * the members `code`, `message` and `data`, and ends the response. */
static void put_failure(struct json_writer *w, const struct fault *f)
{
	AUTO_BUF message = BUF_INIT(1u << 20);

	fault_print(f, &message);
	json_key_int(w, "code", 1);
	json_key(w, "message");
	json_strn(w, buf_str(&message), message.n);
	json_key(w, "data");
	json_begin_object(w);
	json_end_object(w);
	end_response(w);
}

void envelope_put_fault(struct json_writer *w, int64_t seq, const struct fault *f)
{
	json_begin_object(w);
	json_key_int(w, "seq_id", seq);
	put_failure(w, f);
}

/* if the seq_id of a request is a longer text, the response does not repeat the text */
#define SEQ_TEXT_MAX_BYTES 256u

void envelope_put_refusal(struct json_writer *w, const struct envelope_request *r,
			  const struct fault *f)
{
	const struct json_value *seq = r->given_seq;

	json_begin_object(w);
	json_key(w, "seq_id");
	if (!seq || seq->type == JSON_ARRAY || seq->type == JSON_OBJECT ||
	    (seq->type == JSON_STRING && seq->string.n > SEQ_TEXT_MAX_BYTES))
		json_int(w, -1);
	else
		json_value_copy(w, seq);
	put_failure(w, f);
}

int envelope_unknown_action(struct str action, struct fault *f)
{
	return fault_about(f, FAULT_VALUE, "Action ", action, " not found");
}

int envelope_busy(struct fault *f)
{
	return fault_set(f, FAULT_BARE, "Runtime connection is busy (max %u concurrent actions)",
			 ENVELOPE_ACTIONS_MAX);
}
