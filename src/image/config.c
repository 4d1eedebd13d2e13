#include "image/config.h"

#include <string.h>

#include "base/cleanup.h"
#include "image/digest.h"

void image_strings_add(struct image_strings *l, const char *s)
{
	l->v = xreallocarray(l->v, l->n + 2, sizeof(*l->v));
	l->v[l->n++] = xstrdup(s);
	l->v[l->n] = NULL;
}

void image_strings_done(struct image_strings *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct image_strings){ 0 };
}

void image_config_done(struct image_config *c)
{
	if (!c)
		return;
	free(c->architecture);
	free(c->variant);
	free(c->os);
	free(c->created);
	free(c->user);
	free(c->working_dir);
	free(c->stop_signal);
	image_strings_done(&c->env);
	image_strings_done(&c->entrypoint);
	image_strings_done(&c->cmd);
	image_strings_done(&c->volumes);
	image_strings_done(&c->exposed_ports);
	image_strings_done(&c->diff_ids);
	for (size_t i = 0; i < c->n_labels; i++) {
		free(c->label[i].key);
		free(c->label[i].value);
	}
	free(c->label);
	*c = (struct image_config){ 0 };
}

static int check_string(const char *name, struct str s, size_t max, struct err *e)
{
	if (memchr(s.p, '\0', s.n))
		return err_set(e, ERR_INVALID, "image configuration: %s contains NUL", name);
	if (s.n > max)
		return err_set(e, ERR_LIMIT, "image configuration: %s is longer than %zu bytes",
			       name, max);
	return 0;
}

static int read_string(const struct json_value *v, const char *name, size_t max, char **ret,
		       struct err *e)
{
	const struct json_value *s = json_get(v, name);

	if (!s || s->type == JSON_NULL)
		return 0;
	if (s->type != JSON_STRING)
		return err_set(e, ERR_INVALID, "image configuration: %s is not a string", name);
	if (check_string(name, s->string, max, e) < 0)
		return -1;
	if (s->string.n > 0)
		*ret = xstrndup(s->string.p, s->string.n);
	return 0;
}

static int check_count(const char *name, size_t n, struct err *e)
{
	if (n > IMAGE_LIST_MAX)
		return err_set(e, ERR_LIMIT, "image configuration: %s has more than %u entries",
			       name, IMAGE_LIST_MAX);
	return 0;
}

static int read_list(const struct json_value *v, const char *name, struct image_strings *ret,
		     struct err *e)
{
	const struct json_value *a = json_get(v, name);

	if (!a || a->type == JSON_NULL)
		return 0;
	if (a->type != JSON_ARRAY)
		return err_set(e, ERR_INVALID, "image configuration: %s is not an array", name);
	if (check_count(name, a->array.n, e) < 0)
		return -1;
	for (size_t i = 0; i < a->array.n; i++) {
		const struct json_value *s = &a->array.item[i];

		if (s->type != JSON_STRING)
			return err_set(e, ERR_INVALID,
				       "image configuration: %s[%zu] is not a string", name, i);
		if (check_string(name, s->string, IMAGE_STRING_MAX_BYTES, e) < 0)
			return -1;
		image_strings_add(ret, s->string.p);
	}
	return 0;
}

/* Reads a set, `Volumes` or `ExposedPorts`. A set is written as an object with empty values. */
static int read_set(const struct json_value *v, const char *name, struct image_strings *ret,
		    struct err *e)
{
	const struct json_value *o = json_get(v, name);

	if (!o || o->type == JSON_NULL)
		return 0;
	if (o->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "image configuration: %s is not an object", name);
	if (check_count(name, o->object.n, e) < 0)
		return -1;
	for (size_t i = 0; i < o->object.n; i++) {
		struct str key = o->object.member[i].key;

		if (check_string(name, key, IMAGE_STRING_MAX_BYTES, e) < 0)
			return -1;
		image_strings_add(ret, key.p);
	}
	return 0;
}

static int read_labels(const struct json_value *v, struct image_config *c, struct err *e)
{
	const struct json_value *o = json_get(v, "Labels");

	if (!o || o->type == JSON_NULL)
		return 0;
	if (o->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "image configuration: Labels is not an object");
	if (check_count("Labels", o->object.n, e) < 0)
		return -1;
	c->label = xcalloc(o->object.n + 1, sizeof(*c->label));
	for (size_t i = 0; i < o->object.n; i++) {
		const struct json_member *m = &o->object.member[i];

		if (m->value.type != JSON_STRING)
			return err_set(e, ERR_INVALID,
				       "image configuration: Labels[%zu] is not a string", i);
		if (check_string("Labels", m->key, IMAGE_STRING_MAX_BYTES, e) < 0 ||
		    check_string("Labels", m->value.string, IMAGE_STRING_MAX_BYTES, e) < 0)
			return -1;
		c->label[i] = (struct image_label){ xstrdup(m->key.p), xstrdup(m->value.string.p) };
		c->n_labels++;
	}
	return 0;
}

/* Drops every entry that is not KEY=VALUE, because it cannot be put into an environment. Other
 * engines also drop such entries. */
static void drop_bad_env(struct image_strings *env)
{
	size_t kept = 0;

	for (size_t i = 0; i < env->n; i++) {
		if (env->v[i][0] != '=' && strchr(env->v[i], '='))
			env->v[kept++] = env->v[i];
		else
			free(env->v[i]);
	}
	env->n = kept;
	if (env->v)
		env->v[kept] = NULL;
}

static int read_run_config(const struct json_value *v, struct image_config *c, struct err *e)
{
	if (read_list(v, "Env", &c->env, e) < 0 ||
	    read_list(v, "Entrypoint", &c->entrypoint, e) < 0 ||
	    read_list(v, "Cmd", &c->cmd, e) < 0 || read_set(v, "Volumes", &c->volumes, e) < 0 ||
	    read_set(v, "ExposedPorts", &c->exposed_ports, e) < 0 || read_labels(v, c, e) < 0 ||
	    read_string(v, "User", IMAGE_USER_MAX_BYTES, &c->user, e) < 0 ||
	    read_string(v, "WorkingDir", IMAGE_STRING_MAX_BYTES, &c->working_dir, e) < 0 ||
	    read_string(v, "StopSignal", IMAGE_USER_MAX_BYTES, &c->stop_signal, e) < 0)
		return -1;
	drop_bad_env(&c->env);
	return 0;
}

static int read_diff_ids(const struct json_value *root, struct image_config *c, struct err *e)
{
	if (read_list(json_get(root, "rootfs"), "diff_ids", &c->diff_ids, e) < 0)
		return -1;
	if (c->diff_ids.n > IMAGE_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "image has %zu layers, more than %u", c->diff_ids.n,
			       IMAGE_LAYERS_MAX);
	for (size_t i = 0; i < c->diff_ids.n; i++)
		if (!digest_valid(c->diff_ids.v[i]))
			return err_set(e, ERR_INVALID,
				       "image configuration: diff_ids[%zu] is not a sha256 digest",
				       i);
	return 0;
}

static int read_all(const struct json_value *root, struct image_config *c, struct err *e)
{
	const struct json_value *run = json_get(root, "config");

	if (root->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "image configuration is not an object");
	if (run && run->type != JSON_NULL && run->type != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "image configuration: config is not an object");
	if (read_string(root, "architecture", IMAGE_USER_MAX_BYTES, &c->architecture, e) < 0 ||
	    read_string(root, "variant", IMAGE_USER_MAX_BYTES, &c->variant, e) < 0 ||
	    read_string(root, "os", IMAGE_USER_MAX_BYTES, &c->os, e) < 0 ||
	    read_string(root, "created", IMAGE_USER_MAX_BYTES, &c->created, e) < 0)
		return -1;
	return read_run_config(run, c, e) < 0 || read_diff_ids(root, c, e) < 0 ? -1 : 0;
}

int image_config_parse(const char *p, size_t n, struct image_config *ret, struct err *e)
{
	struct image_config c = { 0 };
	AUTO_JSON doc = NULL;

	if (n > IMAGE_CONFIG_MAX_BYTES)
		return err_set(e, ERR_LIMIT, "image configuration is larger than %u bytes",
			       IMAGE_CONFIG_MAX_BYTES);
	if (json_parse(p, n, &doc, e) < 0)
		return err_wrap(e, "image configuration");
	if (read_all(json_root(doc), &c, e) < 0) {
		image_config_done(&c);
		return -1;
	}
	*ret = c;
	return 0;
}
