/* The tool `glob`: the newest files whose paths match a pattern. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "files/pattern.h"
#include "files/walk.h"
#include "tool/parameters.h"
#include "tool/place.h"
#include "tool/session_tree.h"
#include "tool/skills.h"

#define MATCHES_MAX 100u
#define KEPT_MAX 1024u /* collect this many matches before the newest are chosen */
#define MATCHING_SEC 5 /* time for all matching: a hostile pattern can take many ms per path */

struct match {
	struct timespec changed;
	char *path; /* relative to the searched directory; owned */
};

struct search {
	const struct pattern *pattern;
	uint64_t matching_ns; /* time that matching took so far */
	size_t total;
	bool cut; /* a limit ended the search */
	size_t n;
	struct match match[KEPT_MAX];
};

static int newest_first(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? 1 : -1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec < y->changed.tv_nsec ? 1 : -1;
	return strcmp(x->path, y->path);
}

/* Sorts the matches and keeps the newest. */
static void keep_newest(struct search *s)
{
	qsort(s->match, s->n, sizeof(s->match[0]), newest_first);
	while (s->n > MATCHES_MAX)
		free(s->match[--s->n].path);
}

static void add(struct search *s, struct str path, struct timespec changed)
{
	s->total++;
	if (s->n == KEPT_MAX)
		keep_newest(s);
	s->match[s->n++] = (struct match){ changed, xstrndup(path.p, path.n) };
}

static bool matches(struct search *s, struct str path)
{
	uint64_t began = clock_mono_ns();
	bool yes = pattern_matches(s->pattern, path);

	s->matching_ns += clock_mono_ns() - began;
	s->cut |= s->matching_ns > MATCHING_SEC * NS_PER_SEC;
	return yes;
}

static bool on_file(void *arg, int dir, const char *name, struct str path)
{
	struct search *s = arg;
	struct stat st;

	if (matches(s, path) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		add(s, path, st.st_mtim);
	return !s->cut;
}

static bool on_entry(void *arg, const struct entry *x)
{
	struct search *s = arg;

	if (matches(s, x->path))
		add(s, x->path, (struct timespec){ .tv_sec = (time_t)x->changed_sec });
	return !s->cut;
}

/* Writes the matches as an array and as a text. Returns false if some matches did not fit. */
static bool write_matches(const struct search *s, const char *top, struct json_writer *w)
{
	AUTO_BUF preview = BUF_INIT(2 * FILE_RESULT_MAX_BYTES);
	bool whole = true;

	json_key(w, "matches");
	json_begin_array(w);
	for (size_t i = 0; i < s->n && whole; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", top, s->match[i].path);

		whole = preview.n + strlen(path) + 1 <= FILE_RESULT_MAX_BYTES;
		if (!whole)
			break;
		json_str(w, path);
		buf_addf(&preview, "%s%s", i ? "\n" : "", path);
	}
	json_end_array(w);
	json_key(w, "preview");
	json_strn(w, buf_str(&preview), preview.n);
	return whole;
}

static void write_result(const struct search *s, const char *top, struct json_writer *w)
{
	const char *limit;

	json_begin_object(w);
	json_key_bool(w, "ok", true);
	limit = !write_matches(s, top, w) ? "bytes" : s->cut ? "scan" : NULL;
	if (!limit && s->total > MATCHES_MAX)
		limit = "matches";
	json_key_int(w, "total", (int64_t)s->total);
	json_key_bool(w, "truncated", limit != NULL);
	json_key_str(w, "truncated_by", limit);
	json_end_object(w);
}

static int no_directory(struct file_call *c, const struct place *p, struct fault *f)
{
	c->hint = "Name the directory that holds this file.";
	return fault_about(f, FAULT_VALIDATION, "Path is not a directory: ", str_of(p->shown), "");
}

static int search_directly(struct file_call *c, const struct place *p, struct search *s,
			   struct fault *f)
{
	struct walk walk = { .file = on_file, .arg = s };
	mode_t kind;
	int fd = place_open_tree(c, p, &kind, f);

	if (fd < 0)
		return -1;
	if (kind != S_IFDIR) {
		close(fd);
		return no_directory(c, p, f);
	}
	walk_run(&walk, fd);
	s->cut |= walk.cut;
	return 0;
}

static int search_in_session(struct file_call *c, const struct place *p, struct search *s,
			     struct fault *f)
{
	struct session_walk walk = { .file = on_entry, .arg = s };
	int r = session_walk_run(c, p, &walk, f);

	s->cut |= walk.cut;
	return r == 1 ? no_directory(c, p, f) : r;
}

/* Adds each skill whose name matches the pattern. */
static int search_skills(struct file_call *c, struct search *s)
{
	struct skills_list all;

	skills_list(c->spec, &all);
	for (size_t i = 0; i < all.n; i++)
		if (pattern_matches(s->pattern, str_of(all.name[i])))
			add(s, str_of(all.name[i]), (struct timespec){ 0 });
	skills_list_done(&all);
	return 0;
}

int file_glob(struct file_call *c, struct fault *f)
{
	AUTO_PLACE place = { .top = -1 };
	AUTO_FREE struct search *s = xcalloc(1, sizeof(*s));
	struct str path, text;
	struct parameters p;
	struct pattern pattern;
	int r;

	parameters_init(&p, c->parameters, f);
	text = parameters_name(&p, "pattern", NULL);
	path = parameters_name(&p, "path", BOX_DEFAULT_PLACE);
	if (parameters_end(&p) < 0 || file_pattern(c, text, &pattern, f) < 0 ||
	    place_find(c, path, &place, f) < 0)
		return -1;
	s->pattern = &pattern;
	if (place.all_skills)
		r = search_skills(c, s);
	else
		r = place.in_session ? search_in_session(c, &place, s, f)
				     : search_directly(c, &place, s, f);
	if (r == 0) {
		keep_newest(s);
		write_result(s, place.shown, c->w);
	}
	while (s->n)
		free(s->match[--s->n].path);
	return r;
}
