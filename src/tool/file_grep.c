/* The tool `grep`: finds lines of files that match a regular expression. A confined program,
 * cordon-search, does the matching. If the workspace exists in the sandbox only, a script in the
 * sandbox reads the files, and we send them to cordon-search. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unicode.h"
#include "tool/found.h"
#include "tool/parameters.h"
#include "tool/place.h"
#include "tool/searcher.h"
#include "tool/session_tree.h"

#define EXPRESSION_MAX_CHARS 1024u
/* cordon-search has the same limits; if it reaches one, its answer says so */
#define FILES_MAX 5000u
#define FILE_MAX_BYTES 10485760u
#define READ_SEC 20 /* time to list and read the files of a sandbox */

struct request {
	struct str path, pattern, include;
};

static int read_request(struct file_call *c, struct request *r, struct fault *f)
{
	struct pattern include;
	struct parameters p;

	parameters_init(&p, c->parameters, f);
	r->pattern = parameters_name(&p, "pattern", NULL);
	r->path = parameters_name(&p, "path", BOX_DEFAULT_PLACE);
	r->include = parameters_name(&p, "include", "");
	if (parameters_end(&p) < 0)
		return -1;
	if (unicode_count(r->pattern) > EXPRESSION_MAX_CHARS)
		return fault_set(f, FAULT_VALIDATION, "pattern must have at most %u characters",
				 EXPRESSION_MAX_CHARS);
	if (r->include.n == 0)
		return 0;
	if (file_pattern(c, r->include, &include, f) < 0)
		return -1;
	/* cut off the path of the workspace */
	r->include.n -= (size_t)(include.part[0].p - r->include.p);
	r->include.p = include.part[0].p;
	return 0;
}

/* --- files of the sandbox -------------------------------------------------------------------- */

struct gathering {
	const struct pattern *include; /* NULL if all files are searched */
	uint64_t until_ns;
	bool late; /* the time was over before the end of the listing */
	size_t n;
	/* one more element shows that there are too many files */
	struct session_want want[FILES_MAX + 1];
	struct searcher *searcher;
};

static void gathering_done(struct gathering *g)
{
	while (g->n)
		free(g->want[--g->n].path);
	free(g);
}

static bool on_entry(void *arg, const struct entry *x)
{
	struct gathering *g = arg;

	g->late = clock_mono_ns() >= g->until_ns;
	if (g->late)
		return false;
	if (g->include && !pattern_matches(g->include, x->path))
		return true;
	g->want[g->n++] = (struct session_want){ xstrndup(x->path.p, x->path.n), x->size };
	return g->n <= FILES_MAX;
}

static bool on_content(void *arg, const struct session_want *x, struct str content)
{
	struct gathering *g = arg;

	return searcher_send(g->searcher, x->path, content);
}

static int send_files(struct file_call *c, const struct place *p, struct gathering *g,
		      bool *ret_cut, struct fault *f)
{
	struct session_walk walk = { .file = on_entry, .arg = g };
	int r;

	g->until_ns = clock_mono_ns() + READ_SEC * NS_PER_SEC;
	r = session_walk_run(c, p, &walk, f);
	if (r == 1) /* the place is a file */
		g->want[g->n++] = (struct session_want){ .path = xstrdup("") };
	if (r < 0 || session_read_files(c, p, g->want, g->n, FILE_MAX_BYTES, g->until_ns,
					on_content, g, ret_cut, f) < 0)
		return -1;
	*ret_cut |= walk.cut || g->late;
	return 0;
}

static int search_in_session(struct file_call *c, const struct place *p, const struct request *r,
			     struct searcher *s, bool *ret_cut, struct fault *f)
{
	struct gathering *g = xcalloc(1, sizeof(*g));
	struct pattern include;
	int k;

	g->searcher = s;
	if (r->include.n)
		g->include = pattern_read(&include, r->include) == 0 ? &include : NULL;
	k = searcher_start(s, -1, r->pattern, STR(""), f);
	if (k == 0)
		k = send_files(c, p, g, ret_cut, f);
	gathering_done(g);
	return k;
}

static int search_directly(struct file_call *c, const struct place *p, const struct request *r,
			   struct searcher *s, struct fault *f)
{
	mode_t kind;
	AUTO_FD fd = place_open_tree(c, p, &kind, f);

	return fd < 0 ? -1 : searcher_start(s, fd, r->pattern, r->include, f);
}

int file_grep(struct file_call *c, struct fault *f)
{
	AUTO_BUF answer = BUF_INIT(FOUND_ANSWER_MAX_BYTES);
	AUTO_PLACE place = { .top = -1 };
	AUTO_SEARCHER s = SEARCHER_NONE;
	struct request r;
	bool cut = false;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &place, f) < 0)
		return -1;
	if (place.all_skills) {
		c->hint = "Read /workspace/.skills to see the skills.";
		return fault_set(
			f, FAULT_VALIDATION,
			"Path must include a skill name under /workspace/.skills/<skill-name>.");
	}
	if ((place.in_session ? search_in_session(c, &place, &r, &s, &cut, f)
			      : search_directly(c, &place, &r, &s, f)) < 0)
		return -1;
	switch (searcher_end(&s, &answer, f)) {
	case SEARCHER_DONE:
		return found_write((struct str){ buf_str(&answer), answer.n }, place.shown, cut,
				   c->w) < 0
			       ? fault_set(f, FAULT_BOX, "The search failed.")
			       : 0;
	case SEARCHER_INVALID:
		c->hint = "Correct the expression (PCRE), or escape special characters.";
		return fault_about(f, FAULT_VALIDATION,
				   "Invalid regex: ", (struct str){ buf_str(&answer), answer.n },
				   "");
	case SEARCHER_LATE:
		c->hint = "Use a simpler expression, or name a smaller path or an include.";
		return fault_set(f, FAULT_VALIDATION, "Regex search timed out");
	default:
		return -1;
	}
}
