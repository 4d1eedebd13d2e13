#include "cli/ui.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#define LINE_MAX_BYTES (64u << 10)  /* one message; a longer one is cut */
#define TABLE_MAX_BYTES (64u << 20) /* a list of a hundred thousand sandboxes fits ten times */
#define SLOW_NS (500 * NS_PER_MS)   /* a completion line names its time beyond this */
#define VERB_WIDTH 12
#define GAP_WIDTH 4

static bool ui_quiet;

void ui_set_quiet(bool quiet)
{
	ui_quiet = quiet;
}

bool ui_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return !(no && *no) && isatty(fd) == 1;
}

/* If the reader of our output leaves, no signal must kill us: our work still has to end well. */
static int write_fd(int fd, const struct buf *b)
{
	if (b->n == 0)
		return 0;
	signal(SIGPIPE, SIG_IGN);
	return io_write_all(fd, b->p, b->n);
}

int ui_write_stdout(const struct buf *b)
{
	int r;

	if (buf_failed(b))
		return ui_errorf(ERR_LIMIT, "the output is too large");
	r = write_fd(STDOUT_FILENO, b);
	if (r == 0 || r == -EPIPE)
		return 0;
	return ui_errorf(ERR_SYSTEM, "write to stdout: %s", strerror(-r));
}

int ui_write_name(const char *name)
{
	AUTO_BUF b = BUF_INIT(4096);

	buf_addf(&b, "%s\n", name);
	return ui_write_stdout(&b);
}

/* Adds the first line of S to OUT, and every further line as a detail. */
static void add_lines(struct buf *out, const char *s)
{
	struct str rest = str_of(s);
	bool first = true;

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct buf copy = BUF_INIT(LINE_MAX_BYTES);

		buf_add(&copy, line.p, line.n);
		if (!first)
			buf_add_str(out, "  → ");
		buf_add_clean(out, buf_str(&copy));
		buf_add_char(out, '\n');
		buf_done(&copy);
		first = false;
	}
}

static void add_coloured(struct buf *out, const char *code, const char *s)
{
	if (ui_colour(STDERR_FILENO))
		buf_addf(out, "\033[%sm%s\033[0m", code, s);
	else
		buf_add_str(out, s);
}

static void say(const char *colour, const char *prefix, const char *text, const char *hint)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (prefix) {
		add_coloured(&out, colour, prefix);
		buf_add_char(&out, ' ');
	}
	add_lines(&out, text);
	if (hint) {
		buf_add_str(&out, "  → ");
		add_lines(&out, hint);
	}
	IGNORE(write_fd(STDERR_FILENO, &out)); /* nowhere left to complain */
}

int ui_error(const struct err *e)
{
	say("1;31", "error:", e->msg, e->hint);
	return err_exit_status(e->code);
}

static void vsay(const char *colour, const char *prefix, const char *fmt, va_list ap)
{
	char *p;

	p = xvasprintf(fmt, ap);
	say(colour, prefix, p, NULL);
	free(p);
}

int ui_errorf(enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("1;31", "error:", fmt, ap);
	va_end(ap);
	return err_exit_status(code);
}

void ui_warn(const char *fmt, ...)
{
	va_list ap;

	if (ui_quiet)
		return;
	va_start(ap, fmt);
	vsay("1;33", "warn:", fmt, ap);
	va_end(ap);
}

void ui_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(NULL, NULL, fmt, ap);
	va_end(ap);
}

static void outcome(const char *colour, const char *mark, const char *verb, const char *target,
		    uint64_t elapsed_ns)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (ui_quiet)
		return;
	buf_add_str(&out, "   ");
	add_coloured(&out, colour, mark);
	buf_addf(&out, " %-*s ", VERB_WIDTH, verb);
	buf_add_clean(&out, target);
	if (elapsed_ns > SLOW_NS)
		buf_addf(&out, " (%.1fs)", (double)elapsed_ns / NS_PER_SEC);
	buf_add_char(&out, '\n');
	IGNORE(write_fd(STDERR_FILENO, &out)); /* the work is done, seen or not */
}

void ui_done(const char *verb, const char *target, uint64_t elapsed_ns)
{
	outcome("32", "✓", verb, target, elapsed_ns);
}

void ui_info(const char *key, const char *fmt, ...)
{
	AUTO_BUF text = BUF_INIT(LINE_MAX_BYTES);
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = xvasprintf(fmt, ap);
	va_end(ap);
	buf_addf(&text, "%s: %s", key, p);
	say("36", "info", buf_str(&text), NULL);
	free(p);
}

void ui_check(enum ui_mark mark, const char *check, const char *fmt, ...)
{
	static const char *const colour[] = { [UI_GOOD] = "32", [UI_SOSO] = "33", [UI_BAD] = "31" };
	static const char *const sign[] = { [UI_GOOD] = "✓", [UI_SOSO] = "!", [UI_BAD] = "✗" };
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = xvasprintf(fmt, ap);
	va_end(ap);
	outcome(colour[mark], sign[mark], check, p, 0);
	free(p);
}

void ui_hint(const char *text)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	buf_add_str(&out, "  → ");
	add_lines(&out, text);
	IGNORE(write_fd(STDERR_FILENO, &out)); /* nowhere left to complain */
}

void ui_spin_begin(struct ui_spin *s, bool quiet, const char *verb, const char *target)
{
	*s = (struct ui_spin){ .verb = verb, .target = target };
	if (quiet || ui_quiet || isatty(STDERR_FILENO) != 1)
		return;
	s->on = true;
	s->start_ns = clock_mono_ns();
	ui_spin_tick(s);
}

void ui_spin_tick(void *spin)
{
	const struct ui_spin *s = spin;
	static const char *const frame[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);
	uint64_t ms;

	if (!s->on)
		return;
	ms = (clock_mono_ns() - s->start_ns) / NS_PER_MS;
	buf_add_str(&out, "\r\033[K   ");
	add_coloured(&out, "36", frame[ms / UI_SPIN_MS % (sizeof(frame) / sizeof(frame[0]))]);
	buf_addf(&out, " %-*s ", VERB_WIDTH, s->verb);
	buf_add_clean(&out, s->target);
	if (ms >= 1000)
		buf_addf(&out, " (%.1fs)", (double)ms / 1000);
	IGNORE(write_fd(STDERR_FILENO, &out)); /* decoration */
}

void ui_spin_end(struct ui_spin *s)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (!s->on)
		return;
	s->on = false;
	buf_add_str(&out, "\r\033[K");
	IGNORE(write_fd(STDERR_FILENO, &out)); /* decoration */
}

/* --- tables --------------------------------------------------------------------------------- */

static unsigned width_of(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void ui_table_init(struct ui_table *t, unsigned n_columns)
{
	*t = (struct ui_table){ .n_columns = n_columns };
	buf_init(&t->cells, TABLE_MAX_BYTES);
}

void ui_table_add(struct ui_table *t, const char *cell)
{
	buf_add_clean(&t->cells, cell ? cell : "-");
	buf_add_char(&t->cells, '\0');
	t->n_cells++;
}

int ui_table_print(struct ui_table *t)
{
	AUTO_BUF out = BUF_INIT(TABLE_MAX_BYTES);
	unsigned *width = xcalloc(t->n_columns, sizeof(*width));
	const char *cell = buf_str(&t->cells);
	int status;

	assert(t->n_cells % t->n_columns == 0);
	if (buf_failed(&t->cells)) {
		status = ui_errorf(ERR_LIMIT, "the table is too large");
		goto out;
	}
	for (unsigned i = 0; i < t->n_cells; i++, cell += strlen(cell) + 1) {
		unsigned w = width_of(cell), *max = &width[i % t->n_columns];

		*max = w > *max ? w : *max;
	}
	cell = buf_str(&t->cells);
	for (unsigned i = 0; i < t->n_cells; i++, cell += strlen(cell) + 1) {
		unsigned column = i % t->n_columns;

		buf_add_str(&out, cell);
		if (column + 1 == t->n_columns)
			buf_add_char(&out, '\n');
		else
			buf_add_fill(&out, ' ', width[column] - width_of(cell) + GAP_WIDTH);
	}
	status = ui_write_stdout(&out);
out:
	free(width);
	buf_done(&t->cells);
	return status;
}

void ui_cut(struct buf *out, const char *s, unsigned width)
{
	unsigned n = 0, keep = width > 3 ? width - 3 : 0;
	const char *end = s;

	if (width_of(s) <= width) {
		buf_add_str(out, s);
		return;
	}
	for (; n < keep; n++)
		do
			end++;
		while (((unsigned char)*end & 0xc0) == 0x80);
	buf_add(out, s, (size_t)(end - s));
	buf_add_fill(out, '.', width > 3 ? 3 : width);
}
