#include "search/grep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/unicode.h"
#include "files/pattern.h"
#include "files/walk.h"
#include "regex/regex.h"
#include "search/stream.h"

#define CUT_MARK "... [truncated]"
/* what one match needs in the result besides the path and the text: keys, quotes, line number */
#define MATCH_OVERHEAD_BYTES 48u
#define LINES_PER_CHECK 64u /* the clock is read once per this many lines */

struct search {
	struct regex *regex;
	bool included; /* INCLUDE was given */
	struct pattern include;
	struct json_writer *w;
	char *text; /* the content of the file that is searched */
	size_t n_matches, n_files, result_bytes, total_bytes;
	uint64_t regex_ns; /* time that matching took so far */
	const char *limit; /* the limit because of which the result is not complete, or NULL */
	bool cut_line, cut_file;
	bool late;
};

/* --- one line -------------------------------------------------------------------------------- */

/* Returns how many bytes the first N characters of S have. */
static size_t head_bytes(struct str s, size_t n)
{
	struct str rest = s;

	while (rest.n && n-- > 0)
		unicode_take(&rest);
	return s.n - rest.n;
}

/* Writes a match. Returns false if the result is full. */
static bool add_match(struct search *s, struct str path, uint64_t number, struct str line)
{
	AUTO_BUF content = BUF_INIT(8 * GREP_LINE_SHOWN_CHARS);
	size_t shown, bytes;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	shown = head_bytes(line, GREP_LINE_SHOWN_CHARS);
	buf_add_utf8(&content, line.p, shown);
	if (shown < line.n)
		buf_add_str(&content, CUT_MARK);
	bytes = path.n + content.n + MATCH_OVERHEAD_BYTES;
	if (s->n_matches == GREP_MATCHES_MAX || s->result_bytes + bytes > GREP_RESULT_MAX_BYTES) {
		s->limit = s->n_matches == GREP_MATCHES_MAX ? "matches" : "bytes";
		return false;
	}
	s->cut_line |= shown < line.n;
	s->result_bytes += bytes;
	s->n_matches++;
	json_begin_object(s->w);
	json_key(s->w, "file");
	json_strn(s->w, path.p, path.n);
	json_key_int(s->w, "line", (int64_t)number);
	json_key(s->w, "content");
	json_strn(s->w, buf_str(&content), content.n);
	json_end_object(s->w);
	return true;
}

/* Adds a match if LINE, the line with the number NUMBER, matches. VALID is true if LINE is known to
 * be UTF-8. Returns false if the search shall end. */
static bool look_at_line(struct search *s, struct str path, uint64_t number, struct str line,
			 bool valid)
{
	struct str searched = line;
	int r;

	if (line.n > GREP_LINE_MAX_BYTES) {
		searched.n = GREP_LINE_MAX_BYTES;
		s->cut_line = true;
		valid = false; /* we may have cut the line inside a character */
	}
	r = regex_matches(s->regex, searched, valid);
	s->late |= r < 0;
	return r < 0 ? false : r == 0 || add_match(s, path, number, line);
}

/* --- one file -------------------------------------------------------------------------------- */

static uint64_t count_lines(const char *p, const char *end)
{
	uint64_t n = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		p++;
		n++;
	}
	return n;
}

/* LITERAL is the text of an expression that is plain text (regex_literal()). Moves REST to the next
 * line that contains LITERAL, and adds the number of skipped lines to *NUMBER. Returns false if
 * there is no such line. */
static bool skip_lines(struct str literal, struct str *rest, uint64_t *number)
{
	const char *at = memmem(rest->p, rest->n, literal.p, literal.n), *begin;

	if (!at)
		return false;
	begin = memrchr(rest->p, '\n', (size_t)(at - rest->p));
	begin = begin ? begin + 1 : rest->p;
	*number += count_lines(rest->p, begin);
	rest->n -= (size_t)(begin - rest->p);
	rest->p = begin;
	return true;
}

/* Adds the time since *SINCE to the time that matching took. Returns false if that time exceeds the
 * limit. */
static bool check_time(struct search *s, uint64_t *since)
{
	uint64_t now = clock_mono_ns();

	s->regex_ns += now - *since;
	*since = now;
	s->late |= s->regex_ns > GREP_REGEX_NS;
	return !s->late;
}

static bool look_at_text(struct search *s, struct str path, struct str text)
{
	const struct str literal = regex_literal(s->regex);
	bool valid = utf8_valid(text.p, text.n), go_on = true;
	uint64_t number = 1, since = clock_mono_ns();

	for (unsigned i = 1; go_on && text.n; i++, number++) {
		const char *end;
		struct str line;

		if (literal.n && !skip_lines(literal, &text, &number))
			break;
		end = memchr(text.p, '\n', text.n);
		line = (struct str){ text.p, end ? (size_t)(end - text.p) : text.n };
		text.p += line.n + (end != NULL);
		text.n -= line.n + (end != NULL);
		go_on = look_at_line(s, path, number, line, valid);
		if (go_on && i % LINES_PER_CHECK == 0)
			go_on = check_time(s, &since);
	}
	return check_time(s, &since) && go_on;
}

/* Returns how many bytes of the next file are searched. */
static size_t max_bytes(const struct search *s)
{
	size_t left = GREP_TOTAL_MAX_BYTES - s->total_bytes;

	return left < GREP_FILE_MAX_BYTES ? left : GREP_FILE_MAX_BYTES;
}

/* Reads the file into S->text, up to the limits. Returns how many bytes were read, or -errno. */
static ssize_t read_text(struct search *s, int fd)
{
	size_t max = max_bytes(s), n = 0;
	ssize_t r = 1;

	/* reads one byte more than MAX, to see whether the file is longer */
	while (r != 0 && n <= max) {
		r = read(fd, s->text + n, max + 1 - n);
		if (r < 0 && errno != EINTR)
			return -errno;
		n += r > 0 ? (size_t)r : 0;
	}
	if (n > max) {
		s->cut_file = true;
		n = max;
	}
	s->total_bytes += n;
	return (ssize_t)n;
}

/* Counts one more file. Returns false if the limits allow no further file. */
static bool count_file(struct search *s)
{
	if (s->n_files == GREP_FILES_MAX || s->total_bytes == GREP_TOTAL_MAX_BYTES) {
		s->limit = "scan";
		return false;
	}
	s->n_files++;
	return true;
}

/* Searches the file FD. Returns false if the search shall end. */
static bool look_at_file(struct search *s, int fd, struct str path)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return true; /* the file was replaced after the directory was read */
	if (!count_file(s))
		return false;
	n = read_text(s, fd);
	return n < 0 || look_at_text(s, path, (struct str){ s->text, (size_t)n });
}

static bool on_file(void *arg, int dir, const char *name, struct str path)
{
	struct search *s = arg;
	AUTO_FD fd = -1;

	if (s->included && !pattern_matches(&s->include, path))
		return true;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 || look_at_file(s, fd, path);
}

/* --- a stream of files ----------------------------------------------------------------------- */

/* Looks at the next file of the stream. Returns false if the search shall end. */
static bool look_at_next(struct search *s, FILE *in)
{
	struct stream_file file;
	struct str path;
	size_t n, max;

	if (stream_next(in, &file) != 1)
		return false;
	path = str_of(file.path);
	if (!count_file(s))
		return false;
	max = max_bytes(s);
	n = fread(s->text, 1, file.size < max ? file.size : max, in);
	for (size_t left = file.size - n; left > 0; left--)
		if (getc(in) == EOF)
			break;
	s->cut_file |= file.size > max;
	s->total_bytes += n;
	if (s->included && !pattern_matches(&s->include, path))
		return true;
	return look_at_text(s, path, (struct str){ s->text, n });
}

/* Searches all files of the stream FD, and closes FD. */
static void look_at_stream(struct search *s, int fd)
{
	FILE *in = fdopen(fd, "re");

	if (!in) {
		close(fd);
		return;
	}
	while (look_at_next(s, in))
		;
	fclose(in);
}

/* --- all ------------------------------------------------------------------------------------- */

static void search(struct search *s, int fd)
{
	struct walk walk = { .file = on_file, .arg = s };
	struct stat st = { 0 };

	json_key(s->w, "matches");
	json_begin_array(s->w);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		walk_run(&walk, fd);
	} else if (S_ISFIFO(st.st_mode)) {
		look_at_stream(s, fd);
	} else {
		look_at_file(s, fd, STR(""));
		close(fd);
	}
	json_end_array(s->w);
	if (!s->limit && (walk.cut || s->cut_file))
		s->limit = "scan";
	if (!s->limit && s->cut_line)
		s->limit = "line";
}

int grep_run(int fd, const char *expression, const char *include, struct json_writer *w,
	     struct err *e)
{
	AUTO_FREE char *text = xmalloc(GREP_FILE_MAX_BYTES + 1);
	struct search s = { .w = w, .text = text };

	if ((*include && pattern_read(&s.include, str_of(include)) < 0)) {
		close(fd);
		return err_set(e, ERR_INVALID, "bad pattern");
	}
	s.included = *include != '\0';
	if (regex_new(expression, 0, &s.regex, e) < 0) {
		close(fd);
		return -1;
	}
	json_begin_object(w);
	search(&s, fd);
	json_key_str(w, "truncated_by", s.limit);
	json_end_object(w);
	regex_free(s.regex);
	return s.late ? err_set(e, ERR_TIMEOUT, "Regex search timed out") : 0;
}
