/* The tool `grep`: lines of files that match a regular expression. A confined program, cordon-search, reads the files.
 * A file may hijack cordon-search, so its answer is checked. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/unicode.h"
#include "tool/parameters.h"
#include "tool/place.h"

#define EXPRESSION_MAX_CHARS 1024u
#define MATCHES_MAX 200u
#define ANSWER_MAX_BYTES (1u << 20)
#define DEADLINE_SEC 10 /* a search may read 50 MiB from a slow disk */

enum { STATUS_INVALID = 2, STATUS_LATE = 3 };

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

/* --- the program ----------------------------------------------------------------------------- */

static int start(const struct request *r, int fd, int out, struct child *ret, struct err *e)
{
	AUTO_FREE char *program = NULL, *pattern = xstrndup(r->pattern.p, r->pattern.n);
	AUTO_FREE char *include = xstrndup(r->include.p, r->include.n);
	const char *argv[] = { "cordon-search", pattern, include, NULL };
	AUTO_FD null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct spawn s = { .argv = argv,
			   .fd = { { null, 0 }, { out, 1 }, { fd, 3 } },
			   .n_fds = 3,
			   .tied = true,
			   .cwd_fd = -1 };

	if (null < 0)
		return err_sys(e, errno, "open '/dev/null'");
	if (program_ours("cordon-search", &program, e) < 0)
		return -1;
	s.path = program;
	return spawn(&s, ret, e);
}

/* Reads the answer until it ends. Returns 0, -ETIME at the deadline, or another -errno. */
static int read_answer(int in, struct buf *answer)
{
	uint64_t until = clock_mono_ns() + DEADLINE_SEC * NS_PER_SEC;

	for (;;) {
		struct pollfd p = { .fd = in, .events = POLLIN };
		uint64_t now = clock_mono_ns();
		char *room = buf_room(answer, 65536);
		ssize_t n;

		if (!room)
			return -EFBIG;
		if (now >= until || poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) == 0)
			return -ETIME;
		n = read(in, room, 65536);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		answer->n += n > 0 ? (size_t)n : 0;
	}
}

/* Runs the search on FD. Returns its exit status, or -1. */
static int run(const struct request *r, int fd, struct buf *answer, struct fault *f)
{
	struct child child = { .pidfd = -1 };
	struct err e = { 0 };
	int pipe_fd[2], k, status = 0;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return fault_set(f, FAULT_BOX, "The search cannot start: %s.", strerror(errno));
	k = start(r, fd, pipe_fd[1], &child, &e);
	close(pipe_fd[1]);
	if (k < 0) {
		close(pipe_fd[0]);
		return fault_set(f, FAULT_BOX, "The search cannot start: %s.", strerror(e.sys));
	}
	k = read_answer(pipe_fd[0], answer);
	close(pipe_fd[0]);
	if (k < 0)
		IGNORE(kill(child.pid, SIGKILL)); /* the child is not reaped yet */
	IGNORE(child_wait(&child, &status));      /* if it fails, STATUS stays 0 */
	if (k == -ETIME)
		return STATUS_LATE;
	if (k < 0 || !WIFEXITED(status))
		return fault_set(f, FAULT_BOX, "The search failed.");
	return WEXITSTATUS(status);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Writes a match with its path in the sandbox. Returns -1 if the match is not valid. */
static int write_match(const struct json_value *m, const char *top, struct json_writer *w)
{
	const char *file = json_get_str(m, "file", NULL),
		   *content = json_get_str(m, "content", NULL);
	int64_t line = json_get_int(m, "line", 0);

	if (!file || !content || line < 1)
		return -1;
	json_begin_object(w);
	json_key(w, "file");
	{
		AUTO_FREE char *shown = xasprintf("%s%s%s", top, *file ? "/" : "", file);

		json_str(w, shown);
	}
	json_key_int(w, "line", line);
	json_key_str(w, "content", content);
	json_end_object(w);
	return 0;
}

static const char *read_limit(const struct json_value *answer)
{
	static const char *const limits[] = { "matches", "bytes", "line", "scan" };
	const char *limit = json_get_str(answer, "truncated_by", "");

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (strcmp(limits[i], limit) == 0)
			return limits[i];
	return NULL;
}

static int write_result(const struct buf *answer, const char *top, struct json_writer *w)
{
	AUTO_JSON doc = NULL;
	const struct json_value *matches;
	const char *limit;
	struct err e;

	if (json_parse(buf_str(answer), answer->n, &doc, &e) < 0)
		return -1;
	matches = json_get(json_root(doc), "matches");
	if (!matches || matches->type != JSON_ARRAY || matches->array.n > MATCHES_MAX)
		return -1;
	limit = read_limit(json_root(doc));
	json_begin_object(w);
	json_key_bool(w, "ok", true);
	json_key(w, "matches");
	json_begin_array(w);
	for (size_t i = 0; i < matches->array.n; i++)
		if (write_match(&matches->array.item[i], top, w) < 0)
			return -1;
	json_end_array(w);
	json_key_int(w, "total", (int64_t)matches->array.n);
	json_key_bool(w, "truncated", limit != NULL);
	json_key_str(w, "truncated_by", limit);
	json_end_object(w);
	return 0;
}

int file_grep(struct file_call *c, struct fault *f)
{
	AUTO_BUF answer = BUF_INIT(ANSWER_MAX_BYTES);
	AUTO_PLACE place = { .top = -1 };
	AUTO_FD fd = -1;
	struct request r;
	mode_t kind;

	if (read_request(c, &r, f) < 0 || place_find(c, r.path, &place, f) < 0)
		return -1;
	fd = place_open_tree(c, &place, &kind, f);
	if (fd < 0)
		return -1;
	switch (run(&r, fd, &answer, f)) {
	case -1:
		return -1;
	case 0:
		return write_result(&answer, place.shown, c->w) < 0
			       ? fault_set(f, FAULT_BOX, "The search failed.")
			       : 0;
	case STATUS_INVALID:
		c->hint = "Correct the expression (PCRE), or escape special characters.";
		return fault_about(f, FAULT_VALIDATION,
				   "Invalid regex: ", (struct str){ buf_str(&answer), answer.n },
				   "");
	case STATUS_LATE:
		c->hint = "Use a simpler expression, or name a smaller path or an include.";
		return fault_set(f, FAULT_VALIDATION, "Regex search timed out");
	default:
		return fault_set(f, FAULT_BOX, "The search failed.");
	}
}
