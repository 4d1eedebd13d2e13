#include "service/boxconfig.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "service/python.h"

void box_config_init(struct box_config *c)
{
	struct fault f = { 0 };

	*c = (struct box_config){ 0 };
	IGNORE(box_limits_decode(NULL, &c->limits, &f)); /* the defaults are valid */
}

void box_config_done(struct box_config *c)
{
	json_free(c->doc);
	c->doc = NULL;
}

/* Writes an object with the members of OLD and MORE. If both have a member, writes the member of
 * MORE. OLD may be NULL. */
static void write_merged(const struct json_value *old, const struct json_value *more,
			 struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	json_begin_object(&w);
	for (size_t i = 0; old && i < old->object.n; i++) {
		const struct json_member *m = &old->object.member[i];

		if (json_get(more, m->key.p))
			continue;
		json_key(&w, m->key.p);
		json_value_copy(&w, &m->value);
	}
	for (size_t i = 0; i < more->object.n; i++) {
		json_key(&w, more->object.member[i].key.p);
		json_value_copy(&w, &more->object.member[i].value);
	}
	json_end_object(&w);
}

/* Returns true if a key of V has a NUL. Such a key would be cut at the NUL when it is written
 * again. */
static bool has_nul_key(const struct json_value *v)
{
	for (size_t i = 0; i < v->object.n; i++)
		if (memchr(v->object.member[i].key.p, '\0', v->object.member[i].key.n))
			return true;
	return false;
}

int box_config_merge(struct box_config *c, const struct json_value *more, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(BOX_CONFIG_MAX_BYTES);
	AUTO_JSON doc = NULL;
	struct box_limits limits;
	struct err e = { 0 };

	if (!more || more->type != JSON_OBJECT || has_nul_key(more))
		return fault_set(f, FAULT_VALUE, "box configuration must be an object");
	write_merged(c->doc ? json_root(c->doc) : NULL, more, &text);
	if (buf_failed(&text))
		return fault_set(f, FAULT_VALUE, "box configuration exceeds %u bytes",
				 BOX_CONFIG_MAX_BYTES);
	if (json_parse(text.p, text.n, &doc, &e) < 0)
		return fault_set(f, FAULT_VALUE, "box configuration: %s", e.msg);
	if (box_limits_decode(json_get(json_root(doc), "limits"), &limits, f) < 0)
		return -1;
	json_free(c->doc);
	c->doc = TAKE(doc);
	c->limits = limits;
	return 0;
}

void box_config_copy(const struct box_config *from, struct box_config *to)
{
	struct fault f = { 0 };

	box_config_init(to);
	if (from->doc && box_config_merge(to, json_root(from->doc), &f) < 0)
		abort(); /* cannot happen: FROM was valid */
}

const struct json_value *box_config_get(const struct box_config *c, const char *section,
					const char *key)
{
	const struct json_value *root = c->doc ? json_root(c->doc) : NULL;

	return json_get(*section ? json_get(root, section) : root, key);
}

struct str box_config_text(const struct box_config *c, const char *section, const char *key)
{
	const struct json_value *v = box_config_get(c, section, key);

	return v && v->type == JSON_STRING ? python_trim(v->string) : STR("");
}

bool box_config_flag(const struct box_config *c, const char *section, const char *key,
		     bool fallback)
{
	const struct json_value *v = box_config_get(c, section, key);
	bool b;

	return v && python_bool(v, &b) == 0 ? b : fallback;
}

int box_config_int(const struct box_config *c, const char *section, const char *key,
		   int64_t fallback, int64_t min, int64_t max, int64_t *ret, struct fault *f)
{
	const struct json_value *v = box_config_get(c, section, key);

	if (v && v->type != JSON_INT)
		return fault_set(f, FAULT_VALUE, "box.%s.%s must be an integer", section, key);
	if (v && (v->integer < min || v->integer > max))
		return fault_set(f, FAULT_VALUE,
				 "box.%s.%s must be between %" PRId64 " and %" PRId64, section, key,
				 min, max);
	*ret = v ? v->integer : fallback;
	return 0;
}

static void add_entry(struct model_texts *t, struct str s)
{
	s = python_trim(s);
	if (s.n && t->n < BOX_ROOTS_MAX)
		t->item[t->n++] = xstrndup(s.p, s.n);
}

bool box_config_list(const struct box_config *c, const char *section, const char *key,
		     struct model_texts *ret)
{
	const struct json_value *v = box_config_get(c, section, key);
	struct str rest;

	*ret = (struct model_texts){ 0 };
	if (!v || v->type == JSON_NULL)
		return false;
	ret->item = xcalloc(BOX_ROOTS_MAX, sizeof(*ret->item));
	for (size_t i = 0; v->type == JSON_ARRAY && i < v->array.n; i++)
		if (v->array.item[i].type == JSON_STRING)
			add_entry(ret, v->array.item[i].string);
	rest = v->type == JSON_STRING ? v->string : (struct str){ 0 };
	while (rest.p)
		add_entry(ret, str_cut(&rest, ','));
	return true;
}
