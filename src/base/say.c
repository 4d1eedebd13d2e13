#include "base/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#define LINE_MAX_BYTES (64u << 10) /* of one message; what does not fit is left out */
/* A longer line of a message is cut. An escape makes a byte four times as long. */
#define SHOWN_MAX_BYTES (LINE_MAX_BYTES / 8)
/* a ✓ line shows how long the work took if it took longer than this */
#define SLOW_NS (500 * NS_PER_MS)
#define VERB_WIDTH 12

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define CYAN "36"
#define BOLD_RED "1;31"
#define BOLD_YELLOW "1;33"

static struct {
	bool quiet, plain;
} how;

void say_set_quiet(bool quiet)
{
	how.quiet = quiet;
}

bool say_is_quiet(void)
{
	return how.quiet;
}

void say_set_plain(void)
{
	how.plain = true;
}

bool say_in_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return !how.plain && !(no && *no) && isatty(fd) == 1;
}

void say_add_coloured(struct buf *out, const char *code, const char *s)
{
	if (say_in_colour(STDERR_FILENO))
		buf_addf(out, "\033[%sm%s\033[0m", code, s);
	else
		buf_add_str(out, s);
}

void say_to_stderr(const struct buf *b)
{
	if (b->n > 0)
		IGNORE(io_write_all(STDERR_FILENO, b->p, b->n));
}

int say_data(const struct buf *b, struct err *e)
{
	int r;

	if (buf_failed(b))
		return err_set(e, ERR_LIMIT, "the output is too large");
	r = b->n ? io_write_all(STDOUT_FILENO, b->p, b->n) : 0;
	return r < 0 && r != -EPIPE ? err_sys(e, -r, "write to stdout") : 0;
}

int say_output(const struct buf *b)
{
	struct err e;

	return say_data(b, &e) < 0 ? say_error(&e) : 0;
}

int say_name(const char *name)
{
	AUTO_BUF b = BUF_INIT(LINE_MAX_BYTES);

	buf_addf(&b, "%s\n", name);
	return say_output(&b);
}

/* --- messages -------------------------------------------------------------------------------- */

/* Adds the first line of S to OUT, and every further line as a detail. After say_set_plain(), adds
 * S as one line. */
static void add_lines(struct buf *out, const char *s)
{
	struct str rest = str_of(s);
	bool first = true;

	while (rest.p) {
		struct str line = rest;

		if (how.plain)
			rest.p = NULL;
		else
			line = str_cut(&rest, '\n');
		if (!first)
			buf_add_str(out, "  → ");
		buf_add_clean_n(out, line.p, line.n < SHOWN_MAX_BYTES ? line.n : SHOWN_MAX_BYTES,
				"");
		buf_add_str(out, line.n > SHOWN_MAX_BYTES ? "…\n" : "\n");
		first = false;
	}
}

static void say(const char *colour, const char *prefix, const char *text, const char *hint)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (prefix) {
		say_add_coloured(&out, colour, prefix);
		buf_add_char(&out, ' ');
	}
	add_lines(&out, text);
	if (hint) {
		buf_add_str(&out, "  → ");
		add_lines(&out, hint);
	}
	say_to_stderr(&out);
}

static void vsay(const char *colour, const char *prefix, const char *fmt, va_list ap)
{
	AUTO_FREE char *text = xvasprintf(fmt, ap);

	say(colour, prefix, text, NULL);
}

int say_error(const struct err *e)
{
	say(BOLD_RED, "error:", e->msg, e->hint);
	return err_exit_status(e->code);
}

int say_errorf(enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(BOLD_RED, "error:", fmt, ap);
	va_end(ap);
	return err_exit_status(code);
}

void say_warn(const char *fmt, ...)
{
	va_list ap;

	if (how.quiet)
		return;
	va_start(ap, fmt);
	vsay(BOLD_YELLOW, "warn:", fmt, ap);
	va_end(ap);
}

void say_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(NULL, NULL, fmt, ap);
	va_end(ap);
}

void say_ask(const char *fmt, ...)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	buf_add_clean(&out, text);
	buf_add_char(&out, ' ');
	say_to_stderr(&out);
}

void say_hint(const char *text)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	buf_add_str(&out, "  → ");
	add_lines(&out, text);
	say_to_stderr(&out);
}

void say_info(const char *key, const char *fmt, ...)
{
	AUTO_FREE char *value = NULL;
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	value = xvasprintf(fmt, ap);
	va_end(ap);
	text = xasprintf("%s: %s", key, value);
	say(CYAN, "info", text, NULL);
}

/* --- outcomes -------------------------------------------------------------------------------- */

/* Prints one outcome. NOTE is put in parentheses behind the target, unless it is NULL. */
static void outcome(const char *colour, const char *mark, const char *verb, const char *target,
		    const char *note)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (how.quiet)
		return;
	buf_add_str(&out, "   ");
	say_add_coloured(&out, colour, mark);
	buf_addf(&out, " %-*s ", VERB_WIDTH, verb);
	buf_add_clean(&out, target);
	if (note)
		buf_addf(&out, " (%s)", note);
	buf_add_char(&out, '\n');
	say_to_stderr(&out);
}

void say_done(const char *verb, const char *target, uint64_t elapsed_ns)
{
	AUTO_FREE char *time = xasprintf("%.1fs", (double)elapsed_ns / NS_PER_SEC);

	outcome(GREEN, "✓", verb, target, elapsed_ns > SLOW_NS ? time : NULL);
}

void say_already(const char *verb, const char *target, const char *why)
{
	outcome(GREEN, "✓", verb, target, why);
}

void say_failed(const char *verb, const char *target)
{
	outcome(RED, "✗", verb, target, NULL);
}

void say_check(enum say_mark mark, const char *check, const char *fmt, ...)
{
	static const char *const colour[] = {
		[SAY_GOOD] = GREEN, [SAY_SOSO] = YELLOW, [SAY_BAD] = RED
	};
	static const char *const sign[] = { [SAY_GOOD] = "✓", [SAY_SOSO] = "!", [SAY_BAD] = "✗" };
	AUTO_FREE char *result = NULL;
	va_list ap;

	va_start(ap, fmt);
	result = xvasprintf(fmt, ap);
	va_end(ap);
	outcome(colour[mark], sign[mark], check, result, NULL);
}
