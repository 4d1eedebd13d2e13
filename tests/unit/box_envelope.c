#include "box/envelope.h"

#include <errno.h>

#include "base/cleanup.h"
#include "box/joiner.h"
#include "t.h"

/* Returns "ignored", the reply that refuses the message, or "SEQ ACTION DATA +". The last character
 * is '-' if the message has no context. */
static const char *read_message(const char *text)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	AUTO_FAULT f = { 0 };
	struct envelope_request r;
	struct json_writer w;

	switch (envelope_read(str_of(text), &r, &f)) {
	case ENVELOPE_IGNORED:
		buf_add_str(&b, "ignored");
		break;
	case ENVELOPE_REQUEST:
		buf_addf(&b, "%" PRId64 " %.*s ", r.seq, (int)r.action.n, r.action.p);
		json_writer_init(&w, &b, 0);
		json_value_copy(&w, r.data);
		buf_add_str(&b, r.context ? " +" : " -");
		envelope_done(&r);
		break;
	case ENVELOPE_REFUSED:
		T_INT(f.class, FAULT_MODEL);
		json_writer_init(&w, &b, 0);
		envelope_put_refusal(&w, &r, &f);
		envelope_done(&r);
		break;
	}
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

#define REFUSED(seq, why)                                                                      \
	"{\"seq_id\":" seq ",\"code\":1,\"message\":\"ValidationError: " why "\",\"data\":{}," \
	"\"chunk_status\":\"continue\"}"

static void requests(void)
{
	static const struct {
		const char *text, *want;
	} c[] = {
		{ "{\"seq_id\":417,\"action\":\"box_get_session\",\"data\":{\"session_id\":\"g\"},"
		  "\"context\":{\"instance_uuid\":\"i\"}}",
		  "417 box_get_session {\"session_id\":\"g\"} +" },
		{ "{\"seq_id\":0,\"action\":\"__ping\",\"data\":{}}", "0 __ping {} -" },
		{ "{\"seq_id\":-5,\"action\":\"\",\"data\":{},\"context\":null,\"x\":1}",
		  "-5  {} -" },
		{ "{\"seq_id\":1,\"seq_id\":2,\"action\":\"a\",\"data\":{\"k\":1,\"k\":\"\\ud800\"}"
		  "}",
		  "2 a {\"k\":\"\xef\xbf\xbd\"} -" },
		/* messages that are not for us */
		{ "", "ignored" },
		{ "nonsense", "ignored" },
		{ "{\"seq_id\":1,\"action\":\"a\",\"data\":{}", "ignored" },
		{ "[1]", "ignored" },
		{ "\"action\"", "ignored" },
		{ "{}", "ignored" },
		{ "{\"seq_id\":1,\"data\":{}}", "ignored" },
		{ "{\"seq_id\":1,\"code\":0,\"message\":\"success\",\"data\":{}}", "ignored" },
		{ "{\"seq_id\":1,\"code\":0,\"action\":\"a\",\"data\":{}}", "ignored" },
		{ "{\"seq_id\":1,\"code\":null,\"action\":\"a\",\"data\":{}}", "ignored" },
		{ "{\"seq_id\":NaN,\"action\":\"a\",\"data\":{}}", "ignored" },
		/* requests with errors */
		{ "{\"action\":\"a\",\"data\":{}}", REFUSED("-1", "seq_id is required") },
		{ "{\"seq_id\":\"x\",\"action\":\"a\",\"data\":{}}",
		  REFUSED("\"x\"", "seq_id must be an integer") },
		{ "{\"seq_id\":1.5,\"action\":\"a\",\"data\":{}}",
		  REFUSED("1.5", "seq_id must be an integer") },
		{ "{\"seq_id\":null,\"action\":\"a\",\"data\":{}}",
		  REFUSED("null", "seq_id must be an integer") },
		{ "{\"seq_id\":true,\"action\":\"a\",\"data\":{}}",
		  REFUSED("true", "seq_id must be an integer") },
		{ "{\"seq_id\":[[1]],\"action\":\"a\",\"data\":{}}",
		  REFUSED("-1", "seq_id must be an integer") },
		{ "{\"seq_id\":9,\"action\":7,\"data\":{}}",
		  REFUSED("9", "action must be a string") },
		{ "{\"seq_id\":9,\"action\":\"a\"}", REFUSED("9", "data is required") },
		{ "{\"seq_id\":9,\"action\":\"a\",\"data\":null}",
		  REFUSED("9", "data must be an object") },
		{ "{\"seq_id\":9,\"action\":\"a\",\"data\":[]}",
		  REFUSED("9", "data must be an object") },
		{ "{\"seq_id\":9,\"action\":\"a\",\"data\":{},\"context\":5}",
		  REFUSED("9", "context must be an object") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		T_STR(read_message(c[i].text), c[i].want);
}

static void a_long_number_is_not_repeated(void)
{
	AUTO_BUF b = BUF_INIT(4096);

	buf_add_str(&b, "{\"action\":\"a\",\"data\":{},\"seq_id\":\"");
	buf_add_fill(&b, 'x', 257);
	buf_add_str(&b, "\"}");
	T_STR(read_message(b.p), REFUSED("-1", "seq_id must be an integer"));
}

static void responses(void)
{
	AUTO_BUF b = BUF_INIT(4096);
	AUTO_FAULT f = { 0 };
	struct json_writer w;

	json_writer_init(&w, &b, 0);
	envelope_begin_success(&w, 417);
	json_begin_object(&w);
	json_key_str(&w, "deleted", "x");
	json_end_object(&w);
	envelope_end_success(&w);
	T_STR(buf_str(&b),
	      "{\"seq_id\":417,\"code\":0,\"message\":\"success\",\"data\":{\"deleted\":\"x\"},"
	      "\"chunk_status\":\"continue\"}");
	buf_clear(&b);
	json_writer_init(&w, &b, 0);
	fault_about(&f, FAULT_SESSION_NOT_FOUND, "session ", (struct str){ "a\"\0", 3 },
		    " not found");
	envelope_put_fault(&w, -7, &f);
	T_STR(buf_str(&b),
	      "{\"seq_id\":-7,\"code\":1,\"message\":\"BoxSessionNotFoundError: session "
	      "a\\\"\\u0000 not found\",\"data\":{},\"chunk_status\":\"continue\"}");
}

static void failures_of_the_connection(void)
{
	AUTO_FAULT f = { 0 };
	AUTO_BUF b = BUF_INIT(1024);

	T_INT(envelope_unknown_action(STR("box_x"), &f), -1);
	fault_print(&f, &b);
	T_STR(buf_str(&b), "ValueError: Action box_x not found");
	buf_clear(&b);
	T_INT(envelope_busy(&f), -1);
	fault_print(&f, &b);
	T_STR(buf_str(&b), "Runtime connection is busy (max 128 concurrent actions)");
}

/* --- parts of legacy peers ------------------------------------------------------------------- */

/* Joins the parts, which '~' separates. Returns each text followed by '|', or "!" if a text is
 * too long. */
static const char *joined(const char *parts)
{
	static char out[4096];
	AUTO_BUF b = BUF_INIT(sizeof(out) - 1);
	struct str rest = str_of(parts), text;
	struct joiner j;

	joiner_init(&j);
	while (rest.p) {
		struct str part = str_cut(&rest, '~');
		int r = joiner_add(&j, part, &text);

		if (r == 1) {
			buf_add(&b, text.p, text.n);
			buf_add_char(&b, '|');
		} else if (r < 0) {
			buf_add_char(&b, '!');
		}
	}
	joiner_done(&j);
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void parts_are_joined(void)
{
	static const struct {
		const char *parts, *want;
	} c[] = {
		{ "{}", "{}|" },
		{ "{\"a\":1}~{\"b\":2}", "{\"a\":1}|{\"b\":2}|" },
		{ "{\"a\"~:1}", "{\"a\":1}|" },
		{ "{~}~{}", "{}|{}|" },
		{ " \n{~}", " \n{}|" },
		{ "{\"a\":\"}~}\"}~{}", "{\"a\":\"}}\"}|{}|" },
		{ "{\"a\":\"\\~\"}\"}~{}", "{\"a\":\"\\\"}\"}|{}|" },
		{ "{\"a\":\"\\\"{\"}~{}", "{\"a\":\"\\\"{\"}|{}|" },
		{ "{\"a\":\"\\\\\"}~{}", "{\"a\":\"\\\\\"}|{}|" },
		{ "{\"a\":[~{~]~}", "" }, /* still open: brackets are counted, not matched */
		{ "{\"a\":[~]}~{}", "{\"a\":[]}|{}|" },
		{ "nonsense~[1~{}", "nonsense|[1|{}|" },
		{ "~{}", "|{}|" },
		{ "{}}~{}", "{}}|{}|" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		T_STR(joined(c[i].parts), c[i].want);
}

static void joined_texts_have_a_size(void)
{
	AUTO_BUF part = BUF_INIT(1 << 20);
	struct joiner j;
	struct str text;
	size_t n = 0;

	buf_add_fill(&part, ' ', 65536);
	joiner_init(&j);
	T_INT(joiner_add(&j, STR("{"), &text), 0);
	for (n = 1; n + 65536 <= JOINER_MESSAGE_MAX_BYTES; n += 65536)
		T_INT(joiner_add(&j, (struct str){ part.p, part.n }, &text), 0);
	T_INT(joiner_add(&j, (struct str){ part.p, JOINER_MESSAGE_MAX_BYTES - n - 1 }, &text), 0);
	T_INT(joiner_add(&j, STR("}}"), &text), -EPROTO);
	T_INT(joiner_add(&j, STR("}"), &text), 1);
	T_INT(text.n, JOINER_MESSAGE_MAX_BYTES);
	T_INT(joiner_add(&j, STR("{}"), &text), 1);
	T_TRUE(joiner_held_bytes(&j) <= 65536);
	joiner_done(&j);
}

int main(void)
{
	T_RUN(requests);
	T_RUN(a_long_number_is_not_repeated);
	T_RUN(responses);
	T_RUN(failures_of_the_connection);
	T_RUN(parts_are_joined);
	T_RUN(joined_texts_have_a_size);
	return t_end();
}
