/*
 * A directory of an archive is only a common prefix of names. To find the contents of a directory,
 * we look at all entries of the archive (at most 512).
 */
#include "skills/candidate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/unicode.h"
#include "skills/name.h"

char *candidate_path(struct str raw)
{
	struct str s = unicode_trim(raw);
	char *path;

	while (s.n && strchr("/\\", s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n && strchr("/\\", s.p[s.n - 1]))
		s.n--;
	path = xstrndup(s.p, s.n);
	for (char *p = path; (p = strchr(p, '\\'));)
		*p = '/';
	return path;
}

/* --- directories of an archive --------------------------------------------------------------- */

static char *join(const char *dir, const char *name)
{
	return xasprintf("%s%s%s", dir, *dir && *name ? "/" : "", name);
}

static const struct zip_entry *find_file(const struct zip *z, const char *dir, const char *name)
{
	AUTO_FREE char *path = join(dir, name);

	for (size_t i = 0; i < z->n; i++)
		if (!z->entry[i].is_dir && strcmp(z->entry[i].path, path) == 0)
			return &z->entry[i];
	return NULL;
}

static bool has_dir(const struct zip *z, const char *path)
{
	for (size_t i = 0; i < z->n; i++) {
		const char *rest;

		if (path_is_below(z->entry[i].path, path, &rest) && (*rest || z->entry[i].is_dir))
			return true;
	}
	return false;
}

struct paths {
	char **path;
	size_t n;
};

static void paths_done(struct paths *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->path[i]);
	free(p->path);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the directories right below DIR, sorted, each once. */
static struct paths dirs_in(const struct zip *z, const char *dir)
{
	struct paths p = { .path = xcalloc(z->n + 1, sizeof(*p.path)) };
	size_t n = 0;

	for (size_t i = 0; i < z->n; i++) {
		const char *rest;
		size_t name_n;

		if (!path_is_below(z->entry[i].path, dir, &rest) || !*rest)
			continue;
		name_n = strcspn(rest, "/");
		if (rest[name_n] == '\0' && !z->entry[i].is_dir)
			continue;
		p.path[p.n++] =
			xstrndup(z->entry[i].path, (size_t)(rest - z->entry[i].path) + name_n);
	}
	qsort(p.path, p.n, sizeof(*p.path), by_path);
	for (size_t i = 0; i < p.n; i++) {
		if (n && strcmp(p.path[n - 1], p.path[i]) == 0)
			free(p.path[i]);
		else
			p.path[n++] = p.path[i];
	}
	p.n = n;
	return p;
}

/* Returns the top directory that holds all entries, or "" if there is none. The path is
 * allocated. */
static char *find_base(const struct zip *z)
{
	struct paths top = dirs_in(z, "");
	bool single = top.n == 1;
	char *base;

	for (size_t i = 0; i < z->n && single; i++) {
		const char *rest;

		single = path_is_below(z->entry[i].path, top.path[0], &rest);
	}
	base = xstrdup(single ? top.path[0] : "");
	paths_done(&top);
	return base;
}

/* --- packages -------------------------------------------------------------------------------- */

struct finding {
	const struct zip *zip;
	const struct upload_names *names;
	const char *base;
	struct candidates *found;
	struct why *y;
};

static int add_to_buf(void *arg, const void *p, size_t n)
{
	buf_add(arg, p, n);
	return 0;
}

static bool is_python_project(const struct zip *z, const char *prefix)
{
	AUTO_FREE char *venv = join(prefix, ".venv");

	for (unsigned i = 0; i < PACKAGE_PROJECT_FILES; i++)
		if (find_file(z, prefix, package_project_files[i]))
			return true;
	return has_dir(z, venv);
}

static int read_skill(const struct finding *f, const struct zip_entry *file, const char *entry,
		      struct candidate *c)
{
	AUTO_BUF text = BUF_INIT(PACKAGE_TEXT_MAX_BYTES);
	const char *dir_name = *c->prefix ? path_leaf(c->prefix) : f->names->stem;

	if (file->size > PACKAGE_TEXT_MAX_BYTES)
		return why_set(f->y, "Skill entry file %s exceeds the %u-byte limit", entry,
			       PACKAGE_TEXT_MAX_BYTES);
	if (zip_inflate(file, add_to_buf, &text, f->y) < 0 ||
	    skill_read((struct str){ buf_str(&text), text.n }, entry, c->source, dir_name,
		       &c->skill, f->y) < 0)
		return -1;
	c->skill.python_project = is_python_project(f->zip, c->prefix);
	clock_gettime(CLOCK_REALTIME, &c->skill.changed);
	c->skill.modified = c->skill.changed;
	return 0;
}

static char *target_name(const struct upload_names *n, const char *source)
{
	const char *leaf = path_leaf(source);
	bool own = *leaf && strcmp(leaf, n->stem) != 0;

	return xasprintf("%s%s%s%s%s", n->stem, own ? "-" : "", own ? leaf : "",
			 *n->suffix ? "-" : "", n->suffix);
}

/* Adds the package at PREFIX. Returns 0, 1 if there is no package, -1 on failure. */
static int add_package(const struct finding *f, const char *prefix)
{
	struct candidates *all = f->found;
	const struct zip_entry *file = NULL;
	const char *entry = NULL, *source;
	struct candidate *c;

	for (unsigned i = 0; i < PACKAGE_ENTRIES && !file; i++) {
		entry = package_entries[i];
		file = find_file(f->zip, prefix, entry);
	}
	if (!file || !path_is_below(prefix, f->base, &source))
		return 1;
	c = &all->candidate[all->n++];
	c->prefix = xstrdup(prefix);
	c->source = xstrdup(source);
	c->target = target_name(f->names, source);
	return read_skill(f, file, entry, c);
}

/* Adds the package in PREFIX. If there is none, looks for packages in the DEPTH levels of
 * directories below PREFIX. The order of the packages does not matter, because the caller sorts the
 * result. */
static int find_packages(const struct finding *f, const char *prefix, unsigned depth)
{
	struct paths below;
	int r = add_package(f, prefix);

	if (r <= 0 || depth == 0)
		return r < 0 ? -1 : 0;
	below = dirs_in(f->zip, prefix);
	r = 0;
	for (size_t i = 0; i < below.n && r == 0; i++)
		r = find_packages(f, below.path[i], depth - 1);
	paths_done(&below);
	return r;
}

/* Sets *RET to the path of the directory SUBDIR below BASE. The path is allocated. */
static int enter_subdir(const struct zip *z, const char *base, struct str subdir, char **ret,
			struct why *y)
{
	AUTO_FREE char *named = candidate_path(subdir);
	AUTO_FREE char *path = path_normalise(str_of(named));
	AUTO_FREE char *joined = NULL;

	if (strcmp(path, "..") == 0 || starts_with(path, "../"))
		return why_set(y, "source_subdir must stay within the uploaded archive");
	joined = join(base, strcmp(path, ".") == 0 ? "" : path);
	if (*joined && !has_dir(z, joined))
		return why_set(y, "source_subdir does not exist in the uploaded archive: %s",
			       named);
	*ret = TAKE(joined);
	return 0;
}

static int by_source(const void *a, const void *b)
{
	return strcmp(((const struct candidate *)a)->source, ((const struct candidate *)b)->source);
}

int candidates_find(const struct zip *z, const struct upload_names *names, struct candidates *ret,
		    struct why *y)
{
	AUTO_CANDIDATES all = { .candidate = xcalloc(z->n + 1, sizeof(*all.candidate)) };
	AUTO_FREE char *top = find_base(z), *base = NULL;
	struct finding f = { .zip = z, .names = names, .found = &all, .y = y };

	if (enter_subdir(z, top, names->subdir, &base, y) < 0)
		return -1;
	f.base = base;
	if (find_packages(&f, base, PACKAGE_DEPTH_SCAN) < 0)
		return -1;
	if (all.n == 0)
		return why_set(
			y, "No " PACKAGE_ENTRY " found in %s or its subdirectories (max depth: %u)",
			names->file, PACKAGE_DEPTH_SCAN);
	qsort(all.candidate, all.n, sizeof(*all.candidate), by_source);
	*ret = all;
	all = (struct candidates){ 0 };
	return 0;
}

void candidates_done(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++) {
		skill_done(&c->candidate[i].skill);
		free(c->candidate[i].prefix);
		free(c->candidate[i].source);
		free(c->candidate[i].target);
	}
	free(c->candidate);
	*c = (struct candidates){ 0 };
}
