/* Reads any bytes as messages of a peer, and as parts of messages of a legacy peer. Every answer
 * must be a response in the form that the peer expects. */
#include "box/envelope.h"

#include <stdint.h>
#include <stdlib.h>

#include "box/joiner.h"
#include "service/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_response(const struct buf *b, int64_t code)
{
	AUTO_JSON d = NULL;
	struct err e = { 0 };
	const struct json_value *v;

	if (buf_failed(b) || json_parse(b->p, b->n, &d, &e) < 0)
		abort();
	v = json_root(d);
	if (json_get_int(v, "code", -1) != code || !json_get(v, "seq_id") ||
	    !json_get_str(v, "message", NULL) || !json_get(v, "data") ||
	    json_get(v, "data")->type != JSON_OBJECT)
		abort();
}

static void answer(struct str text)
{
	AUTO_BUF b = BUF_INIT(64u << 20);
	AUTO_FAULT f = { 0 };
	struct envelope_request r;
	struct context c;
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	switch (envelope_read(text, &r, &f)) {
	case ENVELOPE_IGNORED:
		return;
	case ENVELOPE_REFUSED:
		envelope_put_refusal(&w, &r, &f);
		check_response(&b, 1);
		break;
	case ENVELOPE_REQUEST:
		if (context_decode(r.context, &c, &f) < 0 ||
		    envelope_unknown_action(r.action, &f) < 0)
			envelope_put_fault(&w, r.seq, &f);
		check_response(&b, 1);
		context_done(&c);
		buf_clear(&b);
		json_writer_init(&w, &b, 0);
		envelope_begin_success(&w, r.seq);
		json_value_copy(&w, r.data);
		envelope_end_success(&w);
		check_response(&b, 0);
		break;
	}
	envelope_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str all = { (const char *)data, size }, rest = all, text;
	struct joiner j;

	answer(all);
	joiner_init(&j);
	while (rest.p) {
		struct str part = str_cut(&rest, '~');

		if (joiner_add(&j, part, &text) == 1)
			answer(text);
	}
	joiner_done(&j);
	return 0;
}
