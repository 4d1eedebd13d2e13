/* Reads any JSON as a peer's configuration, and as a query with a template for session ids. A
 * refusal must have a message, and a refused configuration must change nothing. */
#include "service/boxconfig.h"

#include <stdint.h>
#include <stdlib.h>

#include "service/query.h"
#include "service/session_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fault(const struct fault *f)
{
	if (f->class == FAULT_NONE || !f->text || !utf8_valid(f->text, f->n))
		abort();
}

static void configure(const struct json_value *v)
{
	struct box_config c, copy;
	struct model_texts roots;
	AUTO_FAULT f = { 0 };
	int64_t before, mb;

	box_config_init(&c);
	before = c.limits.max_sessions;
	for (unsigned i = 0; i < 2; i++)
		if (box_config_merge(&c, v, &f) < 0) {
			check_fault(&f);
			if (c.doc || c.limits.max_sessions != before)
				abort();
		}
	if (c.limits.max_sessions < 0 || c.limits.max_sessions > 5000)
		abort();
	if (box_limits_fit(&c.limits, 256) && c.limits.max_sessions < 1)
		abort();
	if (box_config_int(&c, "cordon", "memory_ceiling_mb", 512, 16, 1 << 20, &mb, &f) < 0)
		check_fault(&f);
	box_config_list(&c, "local", "allowed_mount_roots", &roots);
	if (roots.n > BOX_ROOTS_MAX)
		abort();
	model_texts_done(&roots);
	box_config_copy(&c, &copy);
	box_config_done(&copy);
	box_config_done(&c);
}

static void ask(const struct json_value *v)
{
	AUTO_BUF id = BUF_INIT(1u << 20);
	AUTO_FAULT f = { 0 };
	struct query q;

	if (query_read(v, &q, &f) < 0 || query_session_id(&q, STR(""), &id, &f) < 0)
		check_fault(&f);
	else if (!utf8_valid(buf_str(&id), id.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	AUTO_JSON d = NULL;
	AUTO_FAULT f = { 0 };
	struct err e = { 0 };

	if (utf8_valid(text.p, text.n) && session_template_check(text, &f) < 0)
		check_fault(&f);
	if (json_parse_lenient(text.p, text.n, &d, &e) < 0)
		return 0;
	configure(json_root(d));
	if (json_root(d)->type == JSON_OBJECT)
		ask(json_root(d));
	return 0;
}
