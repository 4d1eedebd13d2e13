/*
 * A command prints at most SESSION_CHUNK_BYTES, so a long listing is read in pages. The command for
 * each page lists the same tree again and skips the lines of the pages before.
 *
 * One command reads many small files. It prints the sizes of the files before and after it reads
 * them, and all their bytes as one text. In this text a line with the path of each file stands
 * before the bytes of the file. We cut the text into files by the sizes. If both lists of sizes are
 * the same, and each path is at its place, no file has changed its size meanwhile. Otherwise two
 * commands read the files again, each of them one half. Sizes alone would not be enough: if one
 * file grew and another shrank while the command read them, bytes of one file would count as the
 * other's.
 */
#include "tool/session_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "files/walk.h"
#include "tool/session_file.h"

#define PAGES_MAX 24u                /* enough for WALK_ENTRIES_MAX paths of 70 bytes */
#define BATCH_FILES_MAX 512u         /* files that one command reads */
#define BATCH_NAMES_MAX_BYTES 65536u /* the paths of these files together */
#define HEAD_BYTES 12u               /* `head -v` prints "\n==> ./PATH <==\n" before a file */

/* --- listing --------------------------------------------------------------------------------- */

static void add_find(struct buf *script)
{
	buf_add_str(script, "find . -name '*\n*' -prune -o -type d \\(");
	for (size_t i = 0; walk_skipped[i]; i++)
		buf_addf(script, "%s -name %s", i ? " -o" : "", walk_skipped[i]);
	buf_add_str(script, " \\) -prune -o -type f -exec stat -c '%Y %s %n' {} + 2>/dev/null");
}

/* Skips the first SKIP lines of the listing of P, and appends the next piece to PAGE. Returns 0,
 * 1 if P is a regular file and has no listing, or -1. */
static int read_page(struct file_call *c, const struct place *p, size_t skip, struct buf *page,
		     struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SESSION_SCRIPT_MAX_BYTES);
	struct outcome o;
	int r;

	session_begin(&script, p);
	buf_addf(&script,
		 "[ -e \"$p\" ] || exit %d\n[ ! -f \"$p\" ] || exit %d\n[ -d \"$p\" ] || exit %d\n"
		 "cd \"$p\" || exit 1\n",
		 SESSION_MISSING, SESSION_FILE, SESSION_SPECIAL);
	add_find(&script);
	buf_addf(&script, " | tail -n +%zu | head -n %zu | head -c %u | base64 | tr -d '\\n'\n",
		 skip + 1, WALK_ENTRIES_MAX + 1 - skip, SESSION_CHUNK_BYTES);
	outcome_init(&o);
	r = session_run(c, &script, &o, f);
	if (r == 0 && o.exit_code == SESSION_FILE)
		r = 1;
	else if (r == 0 && o.exit_code == SESSION_MISSING)
		r = place_no_tree(c, p, f);
	else if (r == 0 && o.exit_code != 0)
		r = session_fail(c, p, &o, f);
	if (r == 0)
		r = session_decode((struct str){ buf_str(&o.out), o.out.n }, SESSION_CHUNK_BYTES,
				   page, f);
	outcome_done(&o);
	return r;
}

/* Passes each complete line of PAGE to w->file(). Returns false if the walk must end. */
static bool take_lines(struct session_walk *w, const struct buf *page, size_t *lines)
{
	struct str rest = { buf_str(page), page->n };
	const char *end;

	while (rest.n && (end = memchr(rest.p, '\n', rest.n))) {
		struct str line = { rest.p, (size_t)(end - rest.p) };
		struct entry x;

		rest = (struct str){ end + 1, rest.n - line.n - 1 };
		if (++*lines > WALK_ENTRIES_MAX) {
			w->cut = true;
			return false;
		}
		if (entry_read(line, &x) == 0 && !w->file(w->arg, &x))
			return false;
	}
	return true;
}

int session_walk_run(struct file_call *c, const struct place *p, struct session_walk *w,
		     struct fault *f)
{
	size_t lines = 0;

	for (unsigned i = 0; i < PAGES_MAX; i++) {
		/* 3 bytes more, because base64 decodes 3 bytes at a time */
		AUTO_BUF page = BUF_INIT(SESSION_CHUNK_BYTES + 3);
		size_t before = lines;
		int r = read_page(c, p, lines, &page, f);

		if (r != 0)
			return r;
		if (!take_lines(w, &page, &lines))
			return 0;
		if (page.n < SESSION_CHUNK_BYTES)
			return 0; /* the listing has ended */
		if (lines == before)
			break; /* no path is as long as a page, so the sandbox lies */
	}
	w->cut = true;
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

struct reading {
	struct file_call *c;
	const struct place *p;
	size_t max;
	uint64_t until;
	session_got_fn *got;
	void *arg;
	bool cut, enough;
};

/* Reads one file in pieces. Each piece takes a command of its own. */
static int read_alone(struct reading *r, const struct session_want *x, struct fault *f)
{
	AUTO_BUF content = BUF_INIT(r->max + 1 + SESSION_CHUNK_BYTES);
	struct place file = *r->p; /* a shallow copy */
	AUTO_FREE char *shown = NULL;
	AUTO_FAULT why = { 0 };
	int64_t size = 0;
	size_t before;

	shown = xasprintf("%s%s%s", r->p->shown, *x->path ? "/" : "", x->path);
	file.shown = shown;
	do {
		before = content.n;
		if (session_read_bytes(r->c, &file, (int64_t)before, SESSION_CHUNK_BYTES, &size,
				       &content, &why) < 0) {
			r->c->hint = NULL;
			if (why.class == FAULT_VALIDATION)
				return 0; /* the file is no regular file any more */
			fault_move(f, &why);
			return -1;
		}
	} while (content.n > before && content.n <= r->max && (int64_t)content.n < size &&
		 clock_mono_ns() < r->until);
	/* the file has more bytes that we want, so the loop has ended because the time is over */
	if (content.n > before && content.n <= r->max && (int64_t)content.n < size)
		r->cut = true;
	if (content.n > r->max + 1)
		buf_cut(&content, r->max + 1);
	r->enough = content.n && !r->got(r->arg, x, (struct str){ buf_str(&content), content.n });
	return 0;
}

static int run_batch(struct reading *r, const struct session_want *want, size_t n,
		     struct outcome *o, struct fault *f)
{
	AUTO_BUF script = BUF_INIT(SESSION_SCRIPT_MAX_BYTES);

	session_begin(&script, r->p);
	buf_add_str(&script, "cd \"$p\" || exit 1\nset --");
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *path = xasprintf("./%s", want[i].path);

		buf_add_char(&script, ' ');
		buf_add_shell_word(&script, path);
	}
	buf_addf(&script,
		 "\nsizes() { wc -c \"$@\" 2>/dev/null | LC_ALL=C sed 's/^ *\\([0-9]*\\).*/\\1/' |"
		 " tr '\\n' ' '; }\n"
		 "before=$(sizes \"$@\")\n"
		 "head -v -c %u \"$@\" 2>/dev/null | head -c %u | base64 | tr -d '\\n'\n"
		 "printf ':%%s:%%s:' \"$before\" \"$(sizes \"$@\")\"\n",
		 SESSION_CHUNK_BYTES, SESSION_CHUNK_BYTES);
	return session_run(r->c, &script, o, f);
}

/* Removes the line with the path of file number I from the start of CONTENT. Returns false if the
 * line is not there. */
static bool skip_head(struct str *content, const struct session_want *want, size_t i)
{
	AUTO_FREE char *head = xasprintf("%s==> ./%s <==\n", i ? "\n" : "", want[i].path);
	size_t n = strlen(head);

	if (content->n < n || memcmp(content->p, head, n) != 0)
		return false;
	*content = (struct str){ content->p + n, content->n - n };
	return true;
}

/* SIZES lists N sizes and then their sum. Cuts CONTENT into N files of these sizes and stores them
 * in PART. Returns false if SIZES and CONTENT do not agree. */
static bool cut_files(const struct session_want *want, size_t n, struct str sizes,
		      struct str content, struct str part[BATCH_FILES_MAX])
{
	for (size_t i = 0; i < n; i++) {
		uint64_t size;

		if (parse_u64_str(str_cut(&sizes, ' '), 0, SESSION_CHUNK_BYTES, &size) < 0 ||
		    !sizes.p || !skip_head(&content, want, i) || size > content.n)
			return false;
		part[i] = (struct str){ content.p, (size_t)size };
		content = (struct str){ content.p + size, content.n - (size_t)size };
	}
	return content.n == 0;
}

/* Passes the N files in CONTENT on. Returns false, and passes on no file, if SIZES and CONTENT do
 * not agree. */
static bool deliver(struct reading *r, const struct session_want *want, size_t n, struct str sizes,
		    struct str content)
{
	struct str part[BATCH_FILES_MAX];

	if (!cut_files(want, n, sizes, content, part))
		return false;
	for (size_t i = 0; i < n && !r->enough; i++)
		r->enough = part[i].n && !r->got(r->arg, &want[i], part[i]);
	return true;
}

static int read_some(struct reading *r, const struct session_want *want, size_t n, struct fault *f);

static int read_batch(struct reading *r, const struct session_want *want, size_t n, struct fault *f)
{
	AUTO_BUF content = BUF_INIT(SESSION_CHUNK_BYTES + 3);
	struct str rest, text, before, after;
	struct outcome o;
	bool done = false;
	int k;

	outcome_init(&o);
	k = run_batch(r, want, n, &o, f);
	if (k == 0 && o.exit_code == 0) {
		rest = (struct str){ buf_str(&o.out), o.out.n };
		text = str_cut(&rest, ':');
		before = rest.p ? str_cut(&rest, ':') : (struct str){ 0 };
		after = rest.p ? str_cut(&rest, ':') : (struct str){ 0 };
		done = before.n && before.n == after.n && memcmp(before.p, after.p, after.n) == 0 &&
		       session_decode(text, SESSION_CHUNK_BYTES, &content, f) == 0 &&
		       deliver(r, want, n, before, (struct str){ buf_str(&content), content.n });
	}
	outcome_done(&o);
	if (k < 0 || done || r->enough)
		return k;
	fault_done(f);
	return read_some(r, want, n / 2, f) < 0 ? -1 : read_some(r, want + n / 2, n - n / 2, f);
}

static int read_some(struct reading *r, const struct session_want *want, size_t n, struct fault *f)
{
	if (r->enough || n == 0)
		return 0;
	if (clock_mono_ns() >= r->until) {
		r->cut = r->enough = true;
		return 0;
	}
	return n == 1 ? read_alone(r, want, f) : read_batch(r, want, n, f);
}

int session_read_files(struct file_call *c, const struct place *p, const struct session_want *want,
		       size_t n, size_t max, uint64_t until, session_got_fn *got, void *arg,
		       bool *ret_cut, struct fault *f)
{
	struct reading r = { .c = c, .p = p, .max = max, .until = until, .got = got, .arg = arg };
	size_t i = 0;

	while (i < n && !r.enough) {
		uint64_t bytes = 0;
		size_t k = 0, names = 0;

		while (i + k < n && k < BATCH_FILES_MAX) {
			bytes += want[i + k].size + strlen(want[i + k].path) + HEAD_BYTES;
			names += strlen(want[i + k].path);
			if (k > 0 && (bytes > SESSION_CHUNK_BYTES || names > BATCH_NAMES_MAX_BYTES))
				break;
			k++;
		}
		if (read_some(&r, want + i, k, f) < 0)
			return -1;
		i += k;
	}
	*ret_cut = r.cut;
	return 0;
}
