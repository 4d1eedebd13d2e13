/* The operations that create, update and delete skills. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unicode.h"
#include "base/beneath.h"
#include "skills/catalog.h"
#include "skills/discover.h"
#include "skills/field.h"
#include "skills/import.h"
#include "skills/name.h"
#include "skills/operation.h"

static int write_result(const struct store *s, const char *path, struct json_writer *w,
			struct why *y)
{
	AUTO_SKILL k = { 0 };

	if (catalog_load_at(s, path, &k, y) < 0)
		return -1;
	json_begin_object(w);
	json_key(w, "skill");
	catalog_write_skill(s, &k, w);
	json_end_object(w);
	return 0;
}

/* Reads a path from a request and trims it. A path with NULs is refused. */
static int named_path(const struct json_value *data, const char *key, char **ret, struct why *y)
{
	AUTO_TEXT raw = { 0 };
	struct str s;

	if (field_text(data, key, "", &raw, y) < 0)
		return -1;
	s = unicode_trim(text_str(&raw));
	if (s.n && memchr(s.p, 0, s.n))
		return why_set(y, "embedded null byte");
	*ret = xstrndup(s.p, s.n);
	return 0;
}

/* --- create ---------------------------------------------------------------------------------- */

struct creation {
	const struct store *store;
	const struct json_value *data;
	char *name, *target; /* `target` is the absolute path of STORE/NAME */
};

static void creation_done(struct creation *c)
{
	free(c->name);
	free(c->target);
}

/* Reads the field KEY. If the field is absent or blank, takes IMPORTED, the value of the imported
 * skill. If IMPORTED.p is NULL, there is no imported skill. */
static int choose(const struct creation *c, const char *key, struct str imported, struct text *ret,
		  struct why *y)
{
	if (field_text(c->data, key, "", ret, y) < 0)
		return -1;
	if (imported.p && unicode_trim(text_str(ret)).n == 0) {
		text_done(ret);
		*ret = (struct text){ xmalloc(imported.n + 1), imported.n };
		memcpy(ret->p, imported.p, imported.n);
		ret->p[imported.n] = '\0';
	}
	return 0;
}

/* Refuses a text with NULs, because front matter is YAML, which cannot hold NULs. */
static int check_line(const char *key, const struct text *t, struct why *y)
{
	return memchr(t->p, 0, t->n) ? why_set(y, "%s must not contain NUL characters", key) : 0;
}

/* Writes the entry file of the package FD from the request and from the imported skill K, which may
 * be NULL. */
static int write_entry(const struct creation *c, int fd, const struct skill *k, struct why *y)
{
	const struct str none = { NULL, 0 };
	AUTO_TEXT display_name = { 0 }, description = { 0 }, instructions = { 0 };

	if (choose(c, "display_name", k ? str_of(k->display_name) : none, &display_name, y) < 0 ||
	    choose(c, "description", k ? str_of(k->description) : none, &description, y) < 0 ||
	    choose(c, "instructions", k ? (struct str){ k->instructions, k->instructions_n } : none,
		   &instructions, y) < 0 ||
	    check_line("display_name", &display_name, y) < 0 ||
	    check_line("description", &description, y) < 0)
		return -1;
	return package_write(fd, c->name, display_name.p, description.p, text_str(&instructions),
			     y);
}

static int exists(const struct creation *c, struct why *y)
{
	return why_set(y, "Skill directory already exists: %s", c->target);
}

static int failed(const struct creation *c, struct why *y)
{
	return why_set(y, "Failed to create skill \"%s\"", c->name);
}

/* Makes STORE/NAME. FILL fills a hidden package, which is then renamed to NAME, so nobody sees a
 * half-made package. */
static int create_new(const struct creation *c,
		      int (*fill)(const struct creation *c, const char *name, int fd,
				  struct why *y),
		      struct why *y)
{
	AUTO_FREE char *temp = NULL;
	AUTO_FD fd = -1;
	int r;

	/* if the store itself is a package, no search would find the new package below it */
	if (package_entry(c->store->fd))
		return failed(c, y);
	if (store_begin(c->store, &temp, &fd, y) < 0)
		return -1;
	r = fill(c, temp, fd, y);
	if (r == 0) {
		r = store_publish(c->store, temp, c->name);
		if (r == -EEXIST)
			r = exists(c, y);
		else if (r < 0)
			r = why_sys(y, -r, "Skill directory cannot be made: %s", c->target);
	}
	if (r < 0)
		IGNORE(store_delete(c->store, temp)); /* the caller reports the failure in *Y */
	return r;
}

static int fill_plain(const struct creation *c, const char *name, int fd, struct why *y)
{
	return write_entry(c, fd, NULL, y);
}

/* Creates a skill for a request without package_root. The skill's directory may exist already, but
 * only if it holds no skill that can be read. */
static int create_plain(const struct creation *c, struct why *y)
{
	AUTO_FD there = beneath_open_unlinked(c->store->fd, c->name, O_RDONLY | O_DIRECTORY);
	AUTO_SKILL other = { 0 };
	AUTO_WHY broken = WHY_INIT;
	const char *entry;

	if (store_skip(c->store)(c->name) || (there < 0 && there != -ENOENT))
		return exists(c, y);
	if (there < 0)
		return create_new(c, fill_plain, y);
	entry = package_entry(there);
	if (entry && package_load(there, entry, c->name, c->name, &other, &broken) == 0)
		return exists(c, y);
	if (package_entry(c->store->fd))
		return failed(c, y);
	return write_entry(c, there, NULL, y);
}

static int missing_dir(const char *path, struct why *y)
{
	return why_set(y, "Directory does not exist: %s", path);
}

/* Creates a skill whose package_root is in the store, at the path REST. The package is not
 * moved. */
static int create_in_place(const struct creation *c, const char *path, const char *rest,
			   struct why *y)
{
	AUTO_FD fd = beneath_open_unlinked(c->store->fd, rest, O_RDONLY | O_DIRECTORY);
	AUTO_DISCOVERY d = { 0 };
	AUTO_SKILL k = { 0 };
	bool found = false;

	if (c->store->tenant && (fd == -ELOOP || fd == -EXDEV))
		return why_set(y, "package_root must stay within the Workspace skill root");
	if (fd < 0)
		return missing_dir(path, y);
	if (catalog_load_at(c->store, rest, &k, y) < 0 ||
	    discover(c->store->fd, PACKAGE_DEPTH_STORE, store_skip(c->store), &d, y) < 0)
		return -1;
	/* a package that is too deep or below another package would never be found again */
	for (size_t i = 0; i < d.n; i++)
		found |= strcmp(d.found[i].path, rest) == 0;
	return found ? write_entry(c, fd, &k, y) : failed(c, y);
}

static int fill_import(const struct creation *c, const char *name, int fd, struct why *y)
{
	AUTO_SKILL k = { 0 };
	const char *entry;

	if (import_tree(c->store, name, y) < 0)
		return -1;
	entry = package_entry(fd);
	if (!entry)
		return why_set(y, "No " PACKAGE_ENTRY " found in %s",
			       c->store->places->source_path);
	if (package_load(fd, entry, c->name, path_leaf(c->store->places->source_path), &k, y) < 0)
		return -1;
	return write_entry(c, fd, &k, y);
}

/* Creates a skill by copying a package_root from outside of the store. */
static int create_import(const struct creation *c, struct why *y)
{
	struct stat st;

	if (store_skip(c->store)(c->name) ||
	    fstatat(c->store->fd, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return exists(c, y);
	return create_new(c, fill_import, y);
}

/* Creates a skill from the package_root NAMED. *RET_PATH is the new skill's path relative to the
 * store. */
static int create_from(const struct creation *c, const char *named, char **ret_path, struct why *y)
{
	AUTO_FREE char *path = NULL;
	const char *rest = "";
	enum where where = store_locate(c->store, named, &path, &rest);

	*ret_path = xstrdup(where == WHERE_STORE ? rest : c->name);
	switch (where) {
	case WHERE_STORE:
		return create_in_place(c, path, rest, y);
	case WHERE_SOURCE:
		return create_import(c, y);
	case WHERE_ELSEWHERE:
		if (c->store->tenant)
			break;
		if (c->store->places->source_named)
			return missing_dir(path, y);
		y->elsewhere = true;
		return -1;
	case WHERE_ROOT:
		break;
	}
	return why_set(y, "package_root must stay within the Workspace skill root");
}

static int create(struct creation *c, struct json_writer *w, struct why *y)
{
	AUTO_FREE char *named = NULL, *path = NULL;
	AUTO_CATALOG all = { 0 };
	AUTO_TEXT name = { 0 };
	int r;

	if (field_text(c->data, "name", "", &name, y) < 0 ||
	    name_check(text_str(&name), &c->name, y) < 0 || catalog_load(c->store, &all, y) < 0)
		return -1;
	if (catalog_find(&all, str_of(c->name)))
		return why_set(y, "Skill with name \"%s\" already exists", c->name);
	c->target = store_path(c->store, c->name);
	if (named_path(c->data, "package_root", &named, y) < 0)
		return -1;
	if (*named) {
		r = create_from(c, named, &path, y);
	} else {
		path = xstrdup(c->name);
		r = create_plain(c, y);
	}
	return r < 0 ? -1 : write_result(c->store, path, w, y);
}

int run_create(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y)
{
	struct creation c = { .store = s };
	int r;

	if (field_object(data, "skill", &c.data, y) < 0)
		return -1;
	r = create(&c, w, y);
	creation_done(&c);
	return r;
}

/* --- update ---------------------------------------------------------------------------------- */

/* An update cannot change the name and cannot change the package_root. If the request has one of
 * these fields, the field must have the present value. */
static int check_same(const struct store *s, const struct skill *k, const struct json_value *data,
		      struct why *y)
{
	AUTO_FREE char *named = NULL, *path = NULL;
	AUTO_TEXT name = { 0 };
	struct str trimmed;
	const char *rest;

	if (field_text(data, "name", "", &name, y) < 0 ||
	    named_path(data, "package_root", &named, y) < 0)
		return -1;
	trimmed = unicode_trim(text_str(&name));
	if (name.n && !str_eq(trimmed, k->name))
		return why_set(y, "Renaming skills is not supported");
	if (!*named)
		return 0;
	switch (store_locate(s, named, &path, &rest)) {
	case WHERE_ROOT:
	case WHERE_STORE:
		if (strcmp(rest, k->path) == 0)
			return 0;
		break;
	default:
		break;
	}
	return why_set(y, "Updating package_root is not supported; recreate the skill to import a "
			  "different package");
}

/* Reads the field KEY, or takes the skill's present value HAD if the field is missing. */
static int keep(const struct json_value *data, const char *key, const char *had, struct text *ret,
		struct why *y)
{
	return field_text(data, key, had, ret, y) < 0 ? -1 : check_line(key, ret, y);
}

static int update(const struct store *s, const struct skill *k, const struct json_value *data,
		  struct why *y)
{
	/* a display_name that equals the name is not written, because readers use the name if there
	 * is no display_name */
	const char *display = strcmp(k->display_name, k->name) == 0 ? "" : k->display_name;
	AUTO_TEXT display_name = { 0 }, description = { 0 }, given = { 0 };
	struct str instructions = { k->instructions, k->instructions_n };
	AUTO_FD fd = -1;

	if (check_same(s, k, data, y) < 0 ||
	    keep(data, "display_name", display, &display_name, y) < 0 ||
	    keep(data, "description", k->description, &description, y) < 0 ||
	    field_text(data, "instructions", "", &given, y) < 0 || catalog_open(s, k, &fd, y) < 0)
		return -1;
	if (json_get(data, "instructions"))
		instructions = text_str(&given);
	return package_write(fd, k->name, display_name.p, description.p, instructions, y);
}

int run_update(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y)
{
	const struct json_value *skill;
	AUTO_TEXT name = { 0 };
	AUTO_SKILL k = { 0 };

	if (field_required(data, "name", &name, y) < 0 ||
	    field_object(data, "skill", &skill, y) < 0 ||
	    catalog_get(s, text_str(&name), &k, y) < 0 || update(s, &k, skill, y) < 0)
		return -1;
	return write_result(s, k.path, w, y);
}

/* --- delete ---------------------------------------------------------------------------------- */

int run_delete(const struct store *s, const struct json_value *data, int file,
	       struct json_writer *w, struct why *y)
{
	AUTO_FREE char *top = NULL;
	AUTO_TEXT name = { 0 };
	AUTO_SKILL k = { 0 };
	int r;

	if (field_required(data, "name", &name, y) < 0)
		return -1;
	if (catalog_get(s, text_str(&name), &k, y) < 0)
		return -1;
	if (!*k.path)
		return why_set(y, "Only managed skills under the Box skills root can be deleted");
	top = xstrndup(k.path, strcspn(k.path, "/"));
	r = store_delete(s, top);
	if (r < 0)
		return why_sys(y, -r, "Skill directory cannot be deleted: %s/%s", s->path, top);
	json_begin_object(w);
	json_key_str(w, "deleted", k.name);
	json_end_object(w);
	return 0;
}
