/* Operations on the files of one package: list_files, read, write. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/unicode.h"
#include "base/beneath.h"
#include "skills/catalog.h"
#include "skills/field.h"
#include "skills/name.h"
#include "skills/operation.h"

#define LIST_MAX 1000u       /* the largest number of entries in one reply */
#define DIRECTORY_MAX 10000u /* the most entries of a directory that can be listed */
/* the number of entries in one reply if the request names no number */
#define LIST_USUAL 200

/* The package and the path in it that a request names. */
struct target {
	struct skill skill;
	int fd;
	char *path; /* normalised */
	struct text named;
};

static void target_done(struct target *t)
{
	skill_done(&t->skill);
	fd_closep(&t->fd);
	free(t->path);
	text_done(&t->named);
}

#define AUTO_TARGET __attribute__((cleanup(target_done))) struct target

/* Opens the package that the request names. If the request names no path in the package, PATH is
 * used. If PATH is NULL, the request must name a path. */
static int target_open(const struct store *s, const struct json_value *data, const char *path,
		       struct target *t, struct why *y)
{
	AUTO_TEXT name = { 0 };
	int r;

	*t = (struct target){ .fd = -1 };
	if (field_required(data, "name", &name, y) < 0)
		return -1;
	r = path ? field_text(data, "path", path, &t->named, y)
		 : field_required(data, "path", &t->named, y);
	if (r < 0 || catalog_get(s, text_str(&name), &t->skill, y) < 0 ||
	    path_check(text_str(&t->named), &t->path, y) < 0)
		return -1;
	return catalog_open(s, &t->skill, &t->fd, y);
}

static int outside(struct why *y)
{
	return why_set(y, "path must stay within the skill package root");
}

static void begin_reply(const struct target *t, const char *key, struct json_writer *w)
{
	json_begin_object(w);
	json_key(w, "skill");
	json_begin_object(w);
	json_key_str(w, "name", t->skill.name);
	json_end_object(w);
	json_key_str(w, key, t->path);
}

/* --- list ------------------------------------------------------------------------------------ */

struct names {
	char **name;
	size_t n, room;
	size_t seen; /* how many entries were seen, including hidden entries */
};

static void names_done(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(DIR *d, bool hidden, struct names *l, struct why *y)
{
	struct dirent *entry;

	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++l->seen > DIRECTORY_MAX)
			return why_set(y, "Skill directory exceeds the configured entry limit");
		if (entry->d_name[0] == '.' && !hidden)
			continue;
		if (l->n == l->room) {
			l->room = l->room ? 2 * l->room : 64;
			l->name = reallocarray(l->name, l->room, sizeof(*l->name));
			if (!l->name)
				out_of_memory();
		}
		l->name[l->n++] = xstrdup(entry->d_name);
	}
	if (l->n)
		qsort(l->name, l->n, sizeof(*l->name), by_name);
	return 0;
}

/* Writes the entry NAME. For a link, describes the file or directory to which the link leads. If
 * this target is missing or outside of the package, describes the link itself. */
static void write_entry(const struct target *t, const char *name, struct json_writer *w)
{
	bool top = strcmp(t->path, ".") == 0;
	AUTO_FREE char *path = top ? xstrdup(name) : xasprintf("%s/%s", t->path, name);
	struct stat st;
	bool is_dir;

	if (beneath_stat(t->fd, path, &st) < 0) {
		AUTO_FD dir = beneath_open(t->fd, t->path, O_PATH | O_DIRECTORY);

		if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return; /* the entry was deleted meanwhile */
	}
	is_dir = S_ISDIR(st.st_mode);
	json_begin_object(w);
	json_key_str(w, "path", path);
	json_key_str(w, "name", name);
	json_key_bool(w, "is_dir", is_dir);
	if (is_dir)
		json_key_null(w, "size");
	else
		json_key_int(w, "size", st.st_size);
	json_end_object(w);
}

static void write_listing(const struct target *t, const struct names *l, size_t max,
			  struct json_writer *w)
{
	begin_reply(t, "base_path", w);
	json_key(w, "entries");
	json_begin_array(w);
	for (size_t i = 0; i < l->n && i < max; i++)
		write_entry(t, l->name[i], w);
	json_end_array(w);
	json_key_bool(w, "truncated", l->n > max);
	json_end_object(w);
}

static int list_target(const struct target *t, bool hidden, size_t max, struct json_writer *w,
		       struct why *y)
{
	struct str named = unicode_trim(text_str(&t->named));
	int fd = beneath_open(t->fd, t->path, O_RDONLY | O_DIRECTORY);
	struct names l = { 0 };
	DIR *d;
	int r;

	if (fd == -EXDEV)
		return outside(y);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		fd_closep(&fd);
		return why_set(y, "Skill directory not found: %.*s", (int)named.n, named.p);
	}
	r = read_names(d, hidden, &l, y);
	if (r == 0)
		write_listing(t, &l, max, w);
	closedir(d);
	names_done(&l);
	return r;
}

int run_list_files(const struct store *s, const struct json_value *data, int file,
		   struct json_writer *w, struct why *y)
{
	const struct json_value *max = json_get(data, "max_entries");
	AUTO_TARGET t = { .fd = -1 };
	int64_t n = LIST_USUAL;

	if (max && (max->type != JSON_INT || max->integer <= 0))
		return why_set(y, "max_entries must be a positive integer");
	if (max)
		n = max->integer < LIST_MAX ? max->integer : LIST_MAX;
	if (target_open(s, data, ".", &t, y) < 0)
		return -1;
	return list_target(&t, field_true(data, "include_hidden"), (size_t)n, w, y);
}

/* --- read and write -------------------------------------------------------------------------- */

static int too_large(const struct target *t, struct why *y)
{
	return why_set(y, "Skill file %s exceeds the %u-byte limit", t->path,
		       PACKAGE_TEXT_MAX_BYTES);
}

int run_read(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	     struct why *y)
{
	AUTO_BUF text = BUF_INIT(PACKAGE_TEXT_MAX_BYTES);
	AUTO_TARGET t = { .fd = -1 };
	int r;

	if (target_open(s, data, NULL, &t, y) < 0)
		return -1;
	r = beneath_read(t.fd, t.path, &text, NULL);
	if (r == -EXDEV)
		return outside(y);
	if (r == -EFBIG)
		return too_large(&t, y);
	if (r == -EACCES || r == -EPERM || r == -EIO)
		return why_sys(y, -r, "Skill file %s cannot be read", t.path);
	if (r < 0)
		return why_set(y, "Skill file not found: %s", t.path);
	if (!utf8_valid(buf_str(&text), text.n))
		return why_set(y, "Skill file %s is not valid UTF-8 text", t.path);
	begin_reply(&t, "path", w);
	json_key(w, "content");
	json_strn(w, buf_str(&text), text.n);
	json_end_object(w);
	return 0;
}

int run_write(const struct store *s, const struct json_value *data, int file, struct json_writer *w,
	      struct why *y)
{
	const struct json_value *v = json_get(data, "content");
	struct str content = v && v->type == JSON_STRING ? v->string : STR("");
	AUTO_TARGET t = { .fd = -1 };
	int r;

	if (v && v->type != JSON_STRING)
		return why_set(y, "content must be a string");
	if (target_open(s, data, NULL, &t, y) < 0)
		return -1;
	if (content.n > PACKAGE_TEXT_MAX_BYTES)
		return too_large(&t, y);
	r = strcmp(t.path, ".") == 0 ? -EISDIR : beneath_write(t.fd, t.path, content);
	if (r == -EXDEV)
		return outside(y);
	if (r < 0)
		return why_sys(y, -r, "Skill file %s cannot be written", t.path);
	begin_reply(&t, "path", w);
	json_key_int(w, "bytes_written", (int64_t)content.n);
	json_end_object(w);
	return 0;
}
