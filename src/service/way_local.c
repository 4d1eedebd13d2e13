/* The way (service/way.h) to sandboxes of this machine: this process makes the sandboxes itself. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "service/backend.h"
#include "service/local.h"
#include "service/skill_list.h"
#include "service/way.h"

#define STATUS_MAX_BYTES (1u << 20)
#define PROBE_SEC 5
#define IDLE_MAX_SEC (366 * 86400ull)

struct way_local {
	struct way way;
	const struct service_config *config;
	/* the allowed roots and the directory of skills; the texts are borrowed */
	const char **root;
	struct local_rules rules;
};

static bool has_backend(const struct way_local *l)
{
	return l->rules.backend;
}

static int exec(struct way *w, const struct box_spec *s, struct outcome *ret, struct fault *f)
{
	struct way_local *l = (struct way_local *)w;

	if (!has_backend(l))
		return fault_set(f, FAULT_BACKEND_UNAVAILABLE,
				 "LangBot Box backend unavailable. Install and start Docker or "
				 "nsjail before using exec.");
	return local_exec(&l->rules, s, ret, f);
}

static int list(struct way *w, struct json_writer *out, struct fault *f)
{
	return local_list(out, f);
}

static int end(struct way *w, const char *session_id, struct fault *f)
{
	return local_end(session_id, f);
}

static int end_all(struct way *w, size_t *ret_n, struct fault *f)
{
	return local_end_all(ret_n, f);
}

/* --- status ----------------------------------------------------------------------------------- */

static int parse(const struct buf *text, struct json_doc **ret, struct fault *f)
{
	struct err e;

	if (buf_failed(text) || json_parse(text->p, text->n, ret, &e) < 0)
		return fault_set(f, FAULT_BOX, "the answer is too long");
	return 0;
}

/* Makes a sandbox, runs `true` in it and ends it. */
static int probe(struct way_local *l, struct fault *f)
{
	AUTO_FREE char *text = xasprintf("{\"session_id\":\"probe-%d\",\"cmd\":\"true\","
					 "\"timeout_sec\":%d,\"host_path_mode\":\"none\"}",
					 (int)getpid(), PROBE_SEC);
	struct box_spec s = { 0 };
	AUTO_FAULT ignored = { 0 };
	AUTO_JSON doc = NULL;
	struct outcome o;
	struct err e;
	int r;

	if (json_parse(text, strlen(text), &doc, &e) < 0 ||
	    box_spec_decode(json_root(doc), &s, f) < 0)
		return -1;
	outcome_init(&o);
	r = local_exec(&l->rules, &s, &o, f);
	if (r == 0 && (o.timed_out || o.exit_code != 0))
		r = fault_set(f, FAULT_BOX, "a sandbox was made, but the command 'true' failed");
	/* if local_end() fails, the session ends after its idle time */
	IGNORE(local_end(s.session_id, &ignored));
	outcome_done(&o);
	box_spec_done(&s);
	return r;
}

static int count_sessions(size_t *ret, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(32u << 20);
	AUTO_JSON doc = NULL;
	struct json_writer w;

	json_writer_init(&w, &text, 0);
	json_begin_array(&w);
	if (local_list(&w, f) < 0)
		return -1;
	json_end_array(&w);
	if (parse(&text, &doc, f) < 0)
		return -1;
	*ret = json_root(doc)->array.n;
	return 0;
}

static int status(struct way *w, struct json_doc **ret, struct fault *f)
{
	struct way_local *l = (struct way_local *)w;
	AUTO_BUF text = BUF_INIT(STATUS_MAX_BYTES);
	AUTO_FAULT why = { 0 };
	struct json_writer out;
	bool works = has_backend(l) && probe(l, &why) == 0;
	size_t n;

	if (count_sessions(&n, f) < 0)
		return -1;
	json_writer_init(&out, &text, 0);
	json_begin_object(&out);
	json_key(&out, "backend");
	json_begin_object(&out);
	json_key_str(&out, "name", l->rules.backend);
	json_key_bool(&out, "available", works);
	if (why.text)
		json_key_str(&out, "error", why.text);
	json_end_object(&out);
	json_key_int(&out, "active_sessions", (int64_t)n);
	json_key_int(&out, "managed_processes", 0);
	json_key_int(&out, "session_ttl_sec", (int64_t)l->rules.idle_sec);
	json_end_object(&out);
	return parse(&text, ret, f);
}

static int skills(struct way *w, struct json_doc **ret, struct fault *f)
{
	struct way_local *l = (struct way_local *)w;

	return skill_list(l->config->skills_root, ret, f);
}

static int close_local(struct way *w)
{
	struct way_local *l = (struct way_local *)w;

	free(l->root);
	free(l);
	return 0;
}

/* Returns the idle time of sessions in seconds: the number in CORDON_BOX_TTL_SEC, which cordon-box
 * reads too. If there is no valid number, returns LOCAL_IDLE_SEC. */
static uint64_t idle_sec(void)
{
	const char *word = getenv("CORDON_BOX_TTL_SEC");
	uint64_t n;

	return word && parse_u64(word, 0, IDLE_MAX_SEC, &n) == 0 ? n : LOCAL_IDLE_SEC;
}

struct way *way_open_local(const struct service_config *c)
{
	static const struct way_row row = { exec, list, end, end_all, status, skills, close_local };
	struct way_local *l = xcalloc(1, sizeof(*l));
	size_t n = 0;

	l->way.row = &row;
	l->config = c;
	l->root = xcalloc(c->roots.n + 1, sizeof(*l->root));
	for (size_t i = 0; i < c->roots.n; i++)
		l->root[n++] = c->roots.item[i];
	if (c->skills_root)
		l->root[n++] = c->skills_root;
	l->rules = (struct local_rules){ .backend = backend_word(backend_parse(c->backend)),
					 .cordon = &c->cordon,
					 .idle_sec = idle_sec(),
					 .root = l->root,
					 .n_roots = n };
	return &l->way;
}
