#include "registry/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"

#define DRAW_EVERY_NS (100 * NS_PER_MS)
#define BAR_CELLS 20u
#define DIGEST_SHOWN 12
/* lines that stay free below the bars, so that the terminal never scrolls when we redraw */
#define LINES_SPARE 2u

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void add_bar(struct buf *b, uint64_t done, uint64_t total)
{
	unsigned cells = total ? (unsigned)(done * BAR_CELLS / total) : BAR_CELLS;

	for (unsigned i = 0; i < BAR_CELLS; i++)
		buf_add_str(b, i < cells ? "━" : "╌");
}

static const char *unpacking(const struct layers *l, const char *digest)
{
	for (size_t i = 0; i < l->n_items; i++)
		if (strcmp(l->item[i].digest, digest) == 0)
			return l->item[i].state == LAYER_RUNNING  ? "unpacking"
			       : l->item[i].state == LAYER_QUEUED ? "waiting to unpack"
								  : "done";
	return "fetched";
}

static void add_line(struct buf *b, const struct fetch_item *it, const struct layers *l)
{
	buf_addf(b, "   %.*s  ", DIGEST_SHOWN, digest_hex(it->digest));
	add_bar(b, it->done_bytes, it->size_bytes);
	if (it->state == FETCH_DONE)
		buf_addf(b, "  %.1f MiB  %s", mib(it->size_bytes), unpacking(l, it->digest));
	else
		buf_addf(b, "  %.1f / %.1f MiB", mib(it->done_bytes), mib(it->size_bytes));
	buf_add_str(b, "\033[K\n");
}

static void add_total(struct buf *b, const struct progress *p, uint64_t done, uint64_t total)
{
	double seconds = (double)(p->last_ns - p->start_ns) / (double)NS_PER_SEC;
	/* if the server ignores a Range request, the fetch starts again at 0 */
	uint64_t fetched = done > p->start_bytes ? done - p->start_bytes : 0;
	double rate = seconds > 0 ? (double)fetched / seconds : 0;

	buf_addf(b, "   %*s  ", DIGEST_SHOWN, "total");
	add_bar(b, done, total);
	buf_addf(b, "  %.1f / %.1f MiB", mib(done), mib(total));
	if (rate > 0 && done < total)
		buf_addf(b, "  %.1f MiB/s  %.0fs", rate / (1 << 20), (double)(total - done) / rate);
	buf_add_str(b, "\033[K\n");
}

static size_t lines_that_fit(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row <= LINES_SPARE + 1)
		return 1;
	return w.ws_row - LINES_SPARE - 1;
}

/* Progress is only decoration, so it is no error if the terminal cannot be written to. */
static void put(const struct buf *b)
{
	if (b->n > 0)
		IGNORE(io_write_all(STDERR_FILENO, b->p, b->n));
}

void progress_begin(struct progress *p, bool quiet, const char *reference)
{
	AUTO_BUF b = BUF_INIT(1u << 20);

	*p = (struct progress){ .on = !quiet && isatty(STDERR_FILENO),
				.start_ns = clock_mono_ns() };
	if (!p->on)
		return;
	/* this line shows at once that something happens; the first progress bars replace it */
	buf_add_str(&b, "   Pulling      ");
	buf_add_clean(&b, reference);
	buf_add_char(&b, '\n');
	p->n_lines = 1;
	put(&b);
}

void progress_draw(struct progress *p, const struct fetch *f, const struct layers *l)
{
	AUTO_BUF b = BUF_INIT(1u << 20);
	uint64_t now = clock_mono_ns(), done = 0, total = 0;
	size_t room;
	unsigned n = 0;

	if (!p->on || now - p->last_ns < DRAW_EVERY_NS)
		return;
	for (size_t i = 0; i < f->n_items; i++) {
		done += f->item[i].done_bytes;
		total += f->item[i].size_bytes;
	}
	if (p->last_ns == 0)
		p->start_bytes = done;
	p->last_ns = now;
	room = lines_that_fit();
	if (p->n_lines)
		buf_addf(&b, "\033[%uA", p->n_lines);
	for (size_t i = 0; i < f->n_items && n < room; i++, n++)
		add_line(&b, &f->item[i], l);
	add_total(&b, p, done, total);
	p->n_lines = n + 1;
	put(&b);
}

void progress_end(struct progress *p)
{
	AUTO_BUF b = BUF_INIT(64);

	if (p->n_lines)
		buf_addf(&b, "\033[%uA\033[J", p->n_lines);
	p->n_lines = 0;
	put(&b);
}
