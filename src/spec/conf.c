/*
 * A file passes three stages:
 *
 *   expand   replace ${NAME} (not in a project file), make host paths absolute, put the contents
 *            of patch files and env_file in place of their names, write a network preset as an
 *            object, put the contents of a --net-conf file below the key `network` (see wrapper()
 *            for the other options)
 *   check    apply the file to a spec that is thrown away
 *   merge    merge the file into the result of the files before it
 *
 * Whether a string is a host path depends on its place in the file. A place is written as member
 * names joined by dots, with "[]" for any item of a list.
 */
#include "spec/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/conf_apply.h"
#include "spec/env_file.h"
#include "spec/grammar.h"

#define ALPHA "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

struct expander {
	enum conf_scope scope;
	struct json_writer *w;
	char *dir; /* the directory of the file; relative paths in the file start there */
	const struct conf_loader *loader;
	struct err *e;
};

void conf_done(struct conf *c)
{
	json_free(c->sum);
	c->sum = NULL;
}

void conf_extra_done(struct conf_extra *x)
{
	free(x->registry_username);
	free(x->registry_password_env);
	free(x->net);
	strv_done(&x->net_rules);
	strv_done(&x->nameservers);
	strv_done(&x->env_file_names);
	*x = (struct conf_extra){ 0 };
}

/* --- expand -------------------------------------------------------------------------------- */

/* P points to a ${NAME}. Appends the value of NAME to OUT. Returns the text after ${NAME}, or NULL
 * with *E filled. */
static const char *expand_name(const char *p, const char *place, struct buf *out, struct err *e)
{
	size_t n = strspn(p + 2, ALPHA "0123456789");
	AUTO_FREE char *name = xstrndup(p + 2, n);
	const char *value;

	if (n == 0 || p[2 + n] != '}' || !strchr(ALPHA, p[2])) {
		err_set(e, ERR_INVALID, "%s: only ${NAME} is replaced, not '%.32s'", place, p);
		return NULL;
	}
	value = getenv(name);
	if (!value) {
		err_set(e, ERR_INVALID, "%s: ${%s} is not set in your environment", place, name);
		return NULL;
	}
	buf_add_str(out, value);
	return p + 2 + n + 1;
}

static int expand_text(struct str s, const char *place, bool verbatim, struct buf *out,
		       struct err *e)
{
	const char *p = s.p;

	if (memchr(s.p, 0, s.n))
		return err_set(e, ERR_INVALID, "%s: contains a NUL character", place);
	while (*p) {
		const char *dollar = verbatim ? NULL : strstr(p, "${");

		buf_add(out, p, dollar ? (size_t)(dollar - p) : strlen(p));
		if (!dollar)
			break;
		p = expand_name(dollar, place, out, e);
		if (!p)
			return -1;
	}
	if (buf_failed(out))
		return err_set(e, ERR_LIMIT, "%s: too long", place);
	if (!utf8_valid(buf_str(out), out->n))
		return err_set(e, ERR_INVALID, "%s: not valid UTF-8 once expanded", place);
	return 0;
}

/* Returns true if the text at PLACE may be a host path. *RET_ONLY_LOOKING_LIKE becomes true if the
 * text may also be something else: it is a host path only if it looks like a path. */
static bool is_host_path(const char *place, bool *ret_only_looking_like)
{
	static const struct {
		const char *place;
		bool only_looking_like;
	} places[] = {
		{ "image", true },
		{ "image.bind", false },
		{ "image.disk", false },
		{ "env_file", false },
		{ "mounts[]",
		  false }, /* in "./src:/app", the part before the colon is a host path */
		{ "mounts[].bind", false },
		{ "root_disk", true },
		{ "mounts[].disk", false },
		{ "patch_files[]", false },
		{ "patches[].copy_file.src", false },
		{ "patches[].copy_dir.src", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strcmp(places[i].place, place) == 0) {
			*ret_only_looking_like = places[i].only_looking_like;
			return true;
		}
	return false;
}

static int expand_value(struct expander *x, const struct json_value *v, const char *place);
static int expand_file(struct expander *x, const char *path,
		       int (*inside)(struct expander *, const struct json_value *));

static int expand_patches(struct expander *x, const struct json_value *v)
{
	const struct json_value *list = json_get(v, "patches");

	if (!list || v->object.n != 1)
		return err_set(x->e, ERR_INVALID, "expected the one key 'patches'");
	return expand_value(x, list, "patches");
}

/* Writes the variables of the file PATH as a list of NAME=VALUE. */
static int expand_env_file(struct expander *x, const char *path)
{
	AUTO_BUF text = BUF_INIT(ENV_FILE_MAX_BYTES);
	struct spec_env *env = NULL;
	size_t n = 0;
	int r;

	if (!x->loader->text)
		return err_set(x->e, ERR_INVALID, "env_file: not allowed here");
	if (x->loader->text(x->loader->arg, path, &text, x->e) < 0)
		return err_wrap(x->e, "env_file");
	r = env_file_parse(&env, &n, "env_file", path, (struct str){ buf_str(&text), text.n },
			   ENV_FILE_NO_BARE_NAMES, x->e);
	json_begin_array(x->w);
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *variable = xasprintf("%s=%s", env[i].key, env[i].value);

		json_str(x->w, variable);
		free(env[i].key);
		free(env[i].value);
	}
	json_end_array(x->w);
	free(env);
	return r;
}

static int expand_string(struct expander *x, struct str s, const char *place)
{
	AUTO_BUF out = BUF_INIT(CONF_MAX_BYTES);
	bool only_looking_like;

	if (expand_text(s, place, x->scope == CONF_PROJECT, &out, x->e) < 0)
		return -1;
	if (is_host_path(place, &only_looking_like) && *buf_str(&out) != '/' &&
	    (!only_looking_like || image_is_local(buf_str(&out)))) {
		AUTO_FREE char *relative = buf_take(&out);

		buf_init(&out, CONF_MAX_BYTES);
		buf_addf(&out, "%s/%s", x->dir, relative);
	}
	if (strcmp(place, "patch_files[]") == 0)
		return expand_file(x, buf_str(&out), expand_patches);
	if (strcmp(place, "env_file") == 0)
		return expand_env_file(x, buf_str(&out));
	if (strcmp(place, "network") == 0) {
		json_begin_object(x->w);
		json_key_str(x->w, "policy", buf_str(&out));
		json_end_object(x->w);
	} else {
		json_strn(x->w, buf_str(&out), out.n);
	}
	return 0;
}

static int expand_value(struct expander *x, const struct json_value *v, const char *place)
{
	if (v->type == JSON_STRING)
		return expand_string(x, v->string, place);
	if (v->type == JSON_ARRAY) {
		AUTO_FREE char *at = xasprintf("%s[]", place);

		json_begin_array(x->w);
		for (size_t i = 0; i < v->array.n; i++)
			if (expand_value(x, &v->array.item[i], at) < 0)
				return -1;
		json_end_array(x->w);
	} else if (v->type == JSON_OBJECT) {
		json_begin_object(x->w);
		for (size_t i = 0; i < v->object.n; i++) {
			const struct json_member *m = &v->object.member[i];
			AUTO_FREE char *at =
				xasprintf("%s%s%s", place, *place ? "." : "", m->key.p);

			json_key(x->w, m->key.p);
			if (expand_value(x, &m->value, at) < 0)
				return -1;
		}
		json_end_object(x->w);
	} else {
		json_value_copy(x->w, v);
	}
	return 0;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? xstrdup("/")
	       : slash       ? xstrndup(path, (size_t)(slash - path))
			     : xstrdup(".");
}

/* Reads the file PATH and calls INSIDE with its contents. Relative paths in the file start at the
 * directory of the file. */
static int expand_file(struct expander *x, const char *path,
		       int (*inside)(struct expander *, const struct json_value *))
{
	AUTO_JSON d = NULL;
	AUTO_FREE char *absolute = NULL;
	AUTO_FREE char *dir = NULL;
	struct expander below = *x;

	if (x->loader->load(x->loader->arg, path, &d, x->e) < 0 ||
	    path_absolute(path, &absolute, x->e) < 0)
		return -1;
	dir = directory_of(absolute);
	below.dir = dir;
	if (inside(&below, json_root(d)) < 0)
		return err_wrap(x->e, "%s", path);
	return 0;
}

/* Returns the key of a --conf file under which the contents of a file of this scope belong. For
 * example, a --net-conf file has the contents of `network`. Returns NULL if the file has the same
 * keys as a --conf file. */
static const char *wrapper(enum conf_scope scope)
{
	return scope == CONF_NET      ? "network"
	       : scope == CONF_SECRET ? "secrets"
	       : scope == CONF_SCRIPT ? "scripts"
				      : NULL;
}

static int expand_root(struct expander *x, const struct json_value *v)
{
	const char *key = wrapper(x->scope);

	if (v->type == JSON_NULL) { /* the file is empty */
		json_begin_object(x->w);
		json_end_object(x->w);
		return 0;
	}
	if (conf_check_keys(v, x->scope, x->e) < 0)
		return -1;
	if (!key)
		return expand_value(x, v, "");
	json_begin_object(x->w);
	json_key(x->w, key);
	if (expand_value(x, v, key) < 0)
		return -1;
	json_end_object(x->w);
	return 0;
}

/* --- check --------------------------------------------------------------------------------- */

static int try_out(const struct json_value *v, struct err *e)
{
	struct conf_extra x = { 0 };
	struct spec s;
	int r;

	spec_init(&s);
	r = conf_apply_value(v, NULL, &s, &x, e);
	spec_done(&s);
	conf_extra_done(&x);
	return r;
}

/* --- merge --------------------------------------------------------------------------------- */

/* Writes LOWER, with the members of HIGHER merged into LOWER. If one of the two is not an object,
 * writes HIGHER. */
static void merge(struct json_writer *w, const struct json_value *lower,
		  const struct json_value *higher, bool root)
{
	if (lower->type != JSON_OBJECT || higher->type != JSON_OBJECT) {
		json_value_copy(w, higher);
		return;
	}
	json_begin_object(w);
	for (size_t i = 0; i < lower->object.n; i++) {
		const struct json_member *m = &lower->object.member[i];
		const struct json_value *over = json_get(higher, m->key.p);

		json_key(w, m->key.p);
		if (!over)
			json_value_copy(w, &m->value);
		else if (root && str_eq(m->key, "image"))
			/* replace the whole image: merged members of two images would make no
			 * sense */
			json_value_copy(w, over);
		else
			merge(w, &m->value, over, false);
	}
	for (size_t i = 0; i < higher->object.n; i++) {
		const struct json_member *m = &higher->object.member[i];

		if (json_get(lower, m->key.p))
			continue;
		json_key(w, m->key.p);
		json_value_copy(w, &m->value);
	}
	json_end_object(w);
}

static int add_to_sum(struct conf *c, struct json_doc **file, struct err *e)
{
	AUTO_BUF b = BUF_INIT(CONF_MAX_BYTES);
	AUTO_JSON sum = NULL;
	struct json_writer w;

	if (!c->sum) {
		c->sum = TAKE(*file);
		return 0;
	}
	json_writer_init(&w, &b, 0);
	merge(&w, json_root(c->sum), json_root(*file), true);
	if (buf_failed(&b))
		return err_set(e, ERR_LIMIT, "the files together are too large");
	if (json_parse(buf_str(&b), b.n, &sum, e) < 0)
		return -1;
	json_free(c->sum);
	c->sum = TAKE(sum);
	return 0;
}

int conf_add(struct conf *c, enum conf_scope scope, const char *path, const struct conf_loader *l,
	     struct err *e)
{
	AUTO_BUF b = BUF_INIT(CONF_MAX_BYTES);
	AUTO_JSON file = NULL;
	struct json_writer w;
	struct expander x = { .scope = scope, .w = &w, .loader = l, .e = e };

	json_writer_init(&w, &b, 0);
	if (expand_file(&x, path, expand_root) < 0)
		return -1;
	if (buf_failed(&b))
		return err_set(e, ERR_LIMIT, "%s: too large once expanded", path);
	if (json_parse(buf_str(&b), b.n, &file, e) < 0 || try_out(json_root(file), e) < 0 ||
	    add_to_sum(c, &file, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

int conf_apply(const struct conf *c, const char *shell, struct spec *s, struct conf_extra *x,
	       struct err *e)
{
	return c->sum ? conf_apply_value(json_root(c->sum), shell, s, x, e) : 0;
}
