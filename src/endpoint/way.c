#include "endpoint/way.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "endpoint/answer.h"
#include "endpoint/endpoint.h"

#define REQUEST_MAX_BYTES (16u << 20)
/* four times the largest message, because ask() copies an answer and may write its characters as
 * escapes */
#define ANSWER_MAX_BYTES (64u << 20)

struct way_endpoint {
	struct way way;
	struct endpoint *endpoint;
};

static struct endpoint *endpoint_of(struct way *w)
{
	return ((struct way_endpoint *)w)->endpoint;
}

static int exec(struct way *w, const struct box_spec *s, struct outcome *ret, struct fault *f)
{
	AUTO_BUF data = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_JSON answer = NULL;
	struct json_writer out;

	json_writer_init(&out, &data, 0);
	box_spec_encode(s, &out);
	if (buf_failed(&data))
		return fault_set(f, FAULT_VALIDATION, "the call is too long");
	if (endpoint_call(endpoint_of(w), ENDPOINT_EXEC, (struct str){ data.p, data.n }, &answer,
			  f) < 0)
		return -1;
	return answer_read_outcome(answer_data(answer), ret, f);
}

/* Gets the array of the runtime's sessions. The array is a part of *ANSWER. */
static int get_sessions(struct way *w, struct json_doc **answer, const struct json_value **ret,
			struct fault *f)
{
	if (endpoint_call(endpoint_of(w), ENDPOINT_SESSIONS, STR("{}"), answer, f) < 0)
		return -1;
	*ret = json_get(answer_data(*answer), "sessions");
	if (!*ret || (*ret)->type != JSON_ARRAY)
		return fault_set(f, FAULT_BOX, "the Box runtime answered with no list of sessions");
	return 0;
}

static int list(struct way *w, struct json_writer *out, struct fault *f)
{
	const struct json_value *all;
	AUTO_JSON answer = NULL;

	if (get_sessions(w, &answer, &all, f) < 0)
		return -1;
	for (size_t i = 0; i < all->array.n; i++)
		json_value_copy(out, &all->array.item[i]);
	return 0;
}

static int end(struct way *w, const char *session_id, struct fault *f)
{
	AUTO_BUF data = BUF_INIT(REQUEST_MAX_BYTES);
	AUTO_JSON answer = NULL;
	struct json_writer out;

	json_writer_init(&out, &data, 0);
	json_begin_object(&out);
	json_key_str(&out, "session_id", session_id);
	json_end_object(&out);
	return endpoint_call(endpoint_of(w), ENDPOINT_DELETE,
			     (struct str){ buf_str(&data), data.n }, &answer, f);
}

static int end_all(struct way *w, size_t *ret_n, struct fault *f)
{
	const struct json_value *all;
	AUTO_JSON answer = NULL;

	*ret_n = 0;
	if (get_sessions(w, &answer, &all, f) < 0)
		return -1;
	for (size_t i = 0; i < all->array.n; i++) {
		const char *id = json_get_str(&all->array.item[i], "session_id", NULL);

		if (!id)
			continue;
		if (end(w, id, f) == 0)
			++*ret_n;
		else if (f->class == FAULT_SESSION_NOT_FOUND)
			fault_done(f); /* the session has ended meanwhile */
		else
			return -1;
	}
	return 0;
}

/* Does an action, and copies the data of the answer to a document of its own. */
static int ask(struct way *w, enum endpoint_action action, struct json_doc **ret, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(ANSWER_MAX_BYTES);
	AUTO_JSON answer = NULL;
	struct json_writer out;
	struct err e;

	if (endpoint_call(endpoint_of(w), action, STR("{}"), &answer, f) < 0)
		return -1;
	json_writer_init(&out, &text, 0);
	json_value_copy(&out, answer_data(answer));
	if (buf_failed(&text) || json_parse(text.p, text.n, ret, &e) < 0)
		return fault_set(f, FAULT_BOX, "the answer of the Box runtime is too long");
	return 0;
}

static int status(struct way *w, struct json_doc **ret, struct fault *f)
{
	return ask(w, ENDPOINT_STATUS, ret, f);
}

static int skills(struct way *w, struct json_doc **ret, struct fault *f)
{
	return ask(w, ENDPOINT_SKILLS, ret, f);
}

static int close_endpoint(struct way *w)
{
	int signal = endpoint_close(endpoint_of(w));

	free(w);
	return signal;
}

int way_open_endpoint(const struct service_config *config, const struct interrupts *interrupts,
		      uint64_t until_ns, struct way **ret, int *ret_signal, struct fault *f)
{
	static const struct way_row row = {
		exec, list, end, end_all, status, skills, close_endpoint
	};
	struct way_endpoint *w = xcalloc(1, sizeof(*w));

	w->way.row = &row;
	if (endpoint_open(&config->runtime, interrupts, until_ns, &w->endpoint, ret_signal, f) <
	    0) {
		free(w);
		return -1;
	}
	*ret = &w->way;
	return 0;
}
