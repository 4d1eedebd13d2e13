#include "cli/spinner.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"

#define LINE_MAX_BYTES 4096u /* a longer line is cut */
#define VERB_WIDTH 12

void spinner_begin(struct spinner *s, bool quiet, const char *verb, const char *target)
{
	*s = (struct spinner){ .verb = verb, .target = target };
	if (quiet || say_is_quiet() || isatty(STDERR_FILENO) != 1)
		return;
	s->on = true;
	s->start_ns = clock_mono_ns();
	spinner_tick(s);
}

void spinner_tick(void *spinner)
{
	const struct spinner *s = spinner;
	static const char *const frame[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);
	uint64_t ms;

	if (!s->on)
		return;
	ms = (clock_mono_ns() - s->start_ns) / NS_PER_MS;
	buf_add_str(&out, "\r\033[K   ");
	say_add_coloured(&out, "36", frame[ms / SPINNER_MS % ARRAY_SIZE(frame)]);
	buf_addf(&out, " %-*s ", VERB_WIDTH, s->verb);
	buf_add_clean(&out, s->target);
	if (ms >= 1000)
		buf_addf(&out, " (%.1fs)", (double)ms / 1000);
	say_to_stderr(&out);
}

void spinner_end(struct spinner *s)
{
	AUTO_BUF out = BUF_INIT(LINE_MAX_BYTES);

	if (!s->on)
		return;
	s->on = false;
	buf_add_str(&out, "\r\033[K");
	say_to_stderr(&out);
}
