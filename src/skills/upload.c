/*
 * Operations on uploaded archives: preview_zip, install_zip.
 *
 * Both operations read and inflate the whole archive before they answer, so both refuse a broken
 * archive. A preview writes nothing. An installation fills each package under a hidden name and
 * renames the package when it is complete. If one package fails, the packages that were installed
 * before it are deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/beneath.h"
#include "skills/candidate.h"
#include "skills/catalog.h"
#include "skills/field.h"
#include "skills/name.h"
#include "skills/operation.h"
#include "skills/zip.h"

#define PIECE_BYTES 65536u

struct upload {
	struct buf bytes;
	struct zip zip;
	struct text file, suffix, subdir;
	char *stem;
	struct candidates all;
};

static void upload_done(struct upload *u)
{
	candidates_done(&u->all);
	zip_done(&u->zip);
	buf_done(&u->bytes);
	text_done(&u->file);
	text_done(&u->suffix);
	text_done(&u->subdir);
	free(u->stem);
}

#define AUTO_UPLOAD __attribute__((cleanup(upload_done))) struct upload

/* --- opening --------------------------------------------------------------------------------- */

/* Reads the whole file. Uses pread(), because the sender shares the file offset and could move
 * it. */
static int read_file(int fd, struct buf *b, struct why *y)
{
	struct stat st;
	ssize_t n;
	char *room;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return why_set(y, "no uploaded file came with the request");
	/* B has room for one byte more than an archive may have, so a larger file is noticed */
	while (b->n < b->max) {
		size_t want = b->max - b->n < PIECE_BYTES ? b->max - b->n : PIECE_BYTES;

		room = buf_room(b, want);
		if (!room)
			out_of_memory();
		n = pread(fd, room, want, (off_t)b->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return why_sys(y, errno, "the uploaded file cannot be read");
		if (n == 0)
			break;
		b->n += (size_t)n;
	}
	return 0;
}

static int open_fields(struct upload *u, const struct json_value *data, struct why *y)
{
	if (field_text(data, "filename", "skill.zip", &u->file, y) < 0 ||
	    field_text(data, "source_subdir", "", &u->subdir, y) < 0 ||
	    field_text(data, "target_suffix", "upload", &u->suffix, y) < 0)
		return -1;
	/* check the suffix, because it becomes a part of a directory's name */
	if (!name_is_word(text_str(&u->suffix)))
		return why_set(
			y,
			"target_suffix can only contain letters, numbers, hyphens and underscores");
	if (memchr(u->subdir.p, 0, u->subdir.n) || memchr(u->file.p, 0, u->file.n))
		return why_set(y, "embedded null byte");
	u->stem = name_stem(text_str(&u->file));
	return 0;
}

static int upload_open(struct upload *u, const struct json_value *data, int file, struct why *y)
{
	struct upload_names names;

	buf_init(&u->bytes, ZIP_MAX_BYTES + 1);
	if (open_fields(u, data, y) < 0 || read_file(file, &u->bytes, y) < 0 ||
	    zip_open((struct str){ u->bytes.p, u->bytes.n }, &u->zip, y) < 0)
		return -1;
	for (size_t i = 0; i < u->zip.n; i++)
		if (zip_inflate(&u->zip.entry[i], NULL, NULL, y) < 0)
			return -1;
	names = (struct upload_names){ u->file.p, u->stem, u->suffix.p, text_str(&u->subdir) };
	return candidates_find(&u->zip, &names, &u->all, y);
}

/* --- preview --------------------------------------------------------------------------------- */

int run_preview_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y)
{
	AUTO_UPLOAD u = { 0 };

	if (upload_open(&u, data, file, y) < 0)
		return -1;
	json_begin_object(w);
	json_key(w, "skills");
	json_begin_array(w);
	for (size_t i = 0; i < u.all.n; i++) {
		AUTO_FREE char *root = store_path(s, u.all.candidate[i].target);

		skill_write_json(&u.all.candidate[i].skill, root, u.all.candidate[i].source, w);
	}
	json_end_array(w);
	json_end_object(w);
	return 0;
}

/* --- choosing -------------------------------------------------------------------------------- */

struct choice {
	const struct candidate **chosen;
	size_t n;
};

static void add_sources(const struct candidates *all, struct why *y)
{
	for (size_t i = 0; i < all->n; i++) {
		const char *source = all->candidate[i].source;

		why_add(y, i ? ", " : "");
		why_add(y, *source ? source : ".");
	}
}

/* Adds the candidate that WISH names, unless it was chosen before. */
static int choose(const struct candidates *all, struct str wish, struct choice *c, struct why *y)
{
	AUTO_FREE char *path = candidate_path(wish);
	const struct candidate *found = NULL;

	for (size_t i = 0; i < all->n && !found; i++)
		if (strcmp(all->candidate[i].source, strcmp(path, ".") == 0 ? "" : path) == 0)
			found = &all->candidate[i];
	if (!found) {
		why_set(y, "Invalid source_path \"%s\". Available: ", path);
		add_sources(all, y);
		return -1;
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->chosen[i] == found)
			return 0;
	c->chosen[c->n++] = found;
	return 0;
}

static int choose_all(const struct candidates *all, const struct json_value *data, struct choice *c,
		      struct why *y)
{
	const struct json_value *list = json_get(data, "source_paths");
	AUTO_TEXT one = { 0 };

	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->array.n; i++) {
		AUTO_TEXT wish = { 0 };

		if (value_text(&list->array.item[i], "source_paths", &wish, y) < 0 ||
		    choose(all, text_str(&wish), c, y) < 0)
			return -1;
	}
	if (field_text(data, "source_path", "", &one, y) < 0)
		return -1;
	if (one.n) {
		AUTO_FREE char *path = candidate_path(text_str(&one));

		if (*path && choose(all, text_str(&one), c, y) < 0)
			return -1;
	}
	if (c->n)
		return 0;
	if (all->n == 1) {
		c->chosen[c->n++] = &all->candidate[0];
		return 0;
	}
	why_set(y, "Multiple skills found. Please choose one or more source_paths: ");
	add_sources(all, y);
	return -1;
}

static int check_targets(const struct store *s, const struct choice *c, struct why *y)
{
	for (size_t i = 0; i < c->n; i++) {
		const char *target = c->chosen[i]->target;
		struct stat st;

		for (size_t k = 0; k < i; k++)
			if (strcmp(c->chosen[k]->target, target) == 0)
				return why_set(y, "Duplicate target directory selected: %s/%s",
					       s->path, target);
		if (store_skip(s)(target) || fstatat(s->fd, target, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return why_set(y, "Skill directory already exists: %s/%s", s->path, target);
	}
	return 0;
}

/* --- install --------------------------------------------------------------------------------- */

static int write_piece(void *arg, const void *p, size_t n)
{
	return io_write_all(*(int *)arg, p, n);
}

static int cannot_write(const struct zip_entry *e, int errnum, struct why *y)
{
	return why_sys(y, errnum, "Archive entry cannot be written: %s", e->name);
}

/* Writes E to PATH below DIR. */
static int extract_entry(const struct zip_entry *e, int dir, const char *path, struct why *y)
{
	const char *leaf = path_leaf(path);
	AUTO_FREE char *above =
		e->is_dir ? xstrdup(path)
			  : xstrndup(path, leaf == path ? 0 : (size_t)(leaf - path) - 1);
	AUTO_FD in = beneath_make_dirs(dir, above);
	AUTO_FD fd = -1;

	if (in < 0)
		return cannot_write(e, -in, y);
	if (e->is_dir)
		return 0;
	fd = beneath_make_file(in, leaf, e->mode);
	if (fd < 0)
		return cannot_write(e, -fd, y);
	return zip_inflate(e, write_piece, &fd, y);
}

static int extract(const struct zip *z, const struct candidate *c, int dir, struct why *y)
{
	for (size_t i = 0; i < z->n; i++) {
		const char *rest;

		if (path_is_below(z->entry[i].path, c->prefix, &rest) && *rest &&
		    extract_entry(&z->entry[i], dir, rest, y) < 0)
			return -1;
	}
	return 0;
}

/* Makes the package of the candidate C under a hidden name, and then renames it to C->target. */
static int install_one(const struct store *s, const struct zip *z, const struct candidate *c,
		       struct why *y)
{
	AUTO_FREE char *temp = NULL;
	AUTO_SKILL k = { 0 };
	AUTO_FD fd = -1;
	int r;

	if (store_begin(s, &temp, &fd, y) < 0)
		return -1;
	r = extract(z, c, fd, y);
	/* Load the package before it is visible. This fails if the skill's name is not valid. For
	 * example, if the entry file has no name, the skill gets the name of its directory, and
	 * this name may not be valid. */
	if (r == 0)
		r = package_load(fd, c->skill.entry, c->target, c->target, &k, y);
	if (r == 0) {
		r = store_publish(s, temp, c->target);
		if (r == -EEXIST)
			r = why_set(y, "Skill directory already exists: %s/%s", s->path, c->target);
		else if (r < 0)
			r = why_sys(y, -r, "Skill directory cannot be made: %s/%s", s->path,
				    c->target);
	}
	if (r < 0)
		IGNORE(store_delete(s, temp)); /* the caller reports the failure in *Y */
	return r;
}

static int install_all(const struct store *s, const struct upload *u, const struct choice *c,
		       struct why *y)
{
	for (size_t i = 0; i < c->n; i++) {
		if (install_one(s, &u->zip, c->chosen[i], y) == 0)
			continue;
		while (i-- > 0)
			/* if this fails too, *Y still has the first failure */
			IGNORE(store_delete(s, c->chosen[i]->target));
		return -1;
	}
	return 0;
}

static int write_installed(const struct store *s, const struct choice *c, struct json_writer *w,
			   struct why *y)
{
	json_begin_object(w);
	json_key(w, "skills");
	json_begin_array(w);
	for (size_t i = 0; i < c->n; i++) {
		AUTO_SKILL k = { 0 };

		if (catalog_load_at(s, c->chosen[i]->target, &k, y) < 0)
			return -1;
		catalog_write_skill(s, &k, w);
	}
	json_end_array(w);
	json_end_object(w);
	return 0;
}

int run_install_zip(const struct store *s, const struct json_value *data, int file,
		    struct json_writer *w, struct why *y)
{
	AUTO_UPLOAD u = { 0 };
	struct choice c = { 0 };
	int r;

	if (upload_open(&u, data, file, y) < 0)
		return -1;
	c.chosen = xcalloc(u.all.n, sizeof(const struct candidate *));
	r = choose_all(&u.all, data, &c, y);
	if (r == 0)
		r = check_targets(s, &c, y);
	if (r == 0)
		r = install_all(s, &u, &c, y);
	if (r == 0)
		r = write_installed(s, &c, w, y);
	free(c.chosen);
	return r;
}
