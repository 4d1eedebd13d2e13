/* Operations that change nothing: list, get, scan. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/unicode.h"
#include "base/beneath.h"
#include "skills/catalog.h"
#include "skills/discover.h"
#include "skills/field.h"
#include "skills/name.h"
#include "skills/operation.h"

int run_list(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y)
{
	AUTO_CATALOG c = { 0 };

	if (catalog_load(s, &c, y) < 0)
		return -1;
	json_begin_object(w);
	json_key(w, "skills");
	json_begin_array(w);
	for (size_t i = 0; i < c.n; i++)
		catalog_write_skill(s, &c.skill[i], w);
	json_end_array(w);
	json_end_object(w);
	return 0;
}

int run_get(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	    struct why *y)
{
	AUTO_CATALOG c = { 0 };
	AUTO_TEXT name = { 0 };
	const struct skill *k;

	if (field_required(data, "name", &name, y) < 0 || catalog_load(s, &c, y) < 0)
		return -1;
	k = catalog_find(&c, text_str(&name));
	json_begin_object(w);
	json_key(w, "skill");
	if (k)
		catalog_write_skill(s, k, w);
	else
		json_null(w);
	json_end_object(w);
	return 0;
}

/* --- scan ------------------------------------------------------------------------------------ */

static int outside(struct why *y)
{
	return why_set(y, "scan path must stay within the Workspace skill root");
}

/* Opens the directory NAMED, a path from the peer. Sets *RET_PATH to the absolute path of the
 * directory, and *RET_FD to its descriptor. */
static int open_named(const struct store *s, const char *named, char **ret_path, int *ret_fd,
		      struct why *y)
{
	AUTO_FREE char *path = NULL;
	const char *rest = "";
	enum where where = store_locate(s, named, &path, &rest);
	int fd;

	if (where == WHERE_ELSEWHERE && s->tenant)
		return outside(y);
	if (where == WHERE_ELSEWHERE && !s->places->source_named) {
		y->elsewhere = true;
		return -1;
	}
	if (where == WHERE_ELSEWHERE)
		fd = -ENOENT;
	else if (where == WHERE_SOURCE)
		fd = beneath_open_unlinked(s->places->source, "", O_RDONLY | O_DIRECTORY);
	else
		fd = beneath_open_unlinked(s->fd, rest, O_RDONLY | O_DIRECTORY);
	if (s->tenant && (fd == -ELOOP || fd == -EXDEV))
		return outside(y);
	if (fd < 0)
		return why_set(y, "Directory does not exist: %s", s->tenant ? path : named);
	*ret_path = TAKE(path);
	*ret_fd = fd;
	return 0;
}

static int several(const struct discovery *d, const char *named, const char *path, struct why *y)
{
	why_set(y, "Multiple skill directories found in %s. Please choose a more specific path: ",
		named);
	for (size_t i = 0; i < d->n; i++) {
		AUTO_FREE char *one = xasprintf("%s%s%s%s", i ? ", " : "", path,
						*d->found[i].path ? "/" : "", d->found[i].path);

		why_add(y, one);
	}
	return -1;
}

/* Reports the package in the directory FD, which must hold exactly one package. PATH is the
 * directory's absolute path. SHOWN is the directory's name in messages. */
static int scan_dir(int fd, const char *path, const char *shown, struct json_writer *w,
		    struct why *y)
{
	AUTO_DISCOVERY d = { 0 };
	AUTO_FREE char *root = NULL;
	AUTO_SKILL k = { 0 };
	AUTO_FD package = -1;

	if (discover(fd, PACKAGE_DEPTH_SCAN, NULL, &d, y) < 0)
		return -1;
	if (d.n == 0)
		return why_set(
			y, "No " PACKAGE_ENTRY " found in %s or its subdirectories (max depth: %u)",
			shown, PACKAGE_DEPTH_SCAN);
	if (d.n > 1)
		return several(&d, shown, path, y);
	package = beneath_open_unlinked(fd, d.found[0].path, O_RDONLY | O_DIRECTORY);
	if (package < 0)
		return why_sys(y, -package, "Skill directory cannot be opened: %s/%s", path,
			       d.found[0].path);
	root = xasprintf("%s%s%s", path, *d.found[0].path ? "/" : "", d.found[0].path);
	if (package_load(package, d.found[0].entry, d.found[0].path, path_leaf(root), &k, y) < 0)
		return -1;
	skill_write_json(&k, root, NULL, w);
	return 0;
}

int run_scan(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y)
{
	AUTO_TEXT raw = { 0 };
	AUTO_FREE char *named = NULL, *path = NULL;
	AUTO_FD fd = -1;
	struct str trimmed;

	if (field_required(data, "path", &raw, y) < 0)
		return -1;
	trimmed = unicode_trim(text_str(&raw));
	if (trimmed.n && memchr(trimmed.p, 0, trimmed.n))
		return why_set(y, "embedded null byte");
	if (trimmed.n == 0)
		return s->tenant ? outside(y) : why_set(y, "Directory does not exist: ");
	named = xstrndup(trimmed.p, trimmed.n);
	if (open_named(s, named, &path, &fd, y) < 0)
		return -1;
	return scan_dir(fd, path, s->tenant ? path : named, w, y);
}
