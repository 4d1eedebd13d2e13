/* Tables, cutting and messages, read back from real descriptors. */
#include "cli/ui.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "t.h"

static char text[4096];

static int kept = -1, to = -1, from;

static void begin(int fd)
{
	fflush(stdout);
	from = fd;
	kept = dup(fd);
	to = memfd_create("stream", MFD_CLOEXEC);
	dup2(to, fd);
}

static const char *end(void)
{
	ssize_t n = pread(to, text, sizeof(text) - 1, 0);

	dup2(kept, from);
	close(kept);
	close(to);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void table(void)
{
	static const char *const cells[] = { "NAME",    "IMAGE",  "STATUS", "bö",      "host",
					     "running", "longer", NULL,     "x\033[1m" };
	struct ui_table t;

	ui_table_init(&t, 3);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		ui_table_add(&t, cells[i]);
	begin(STDOUT_FILENO);
	T_INT(ui_table_print(&t), 0);
	T_STR(end(), "NAME      IMAGE    STATUS\n"
		     "bö        host     running\n"
		     "longer    -        x\\x1b[1m\n");
}

static void cut(void)
{
	static const struct {
		const char *s;
		unsigned width;
		const char *want;
	} cases[] = {
		{ "short", 5, "short" },  { "longer", 5, "lo..." }, { "", 3, "" },
		{ "äöüäöü", 5, "äö..." }, { "abcd", 3, "..." },     { "abcd", 2, ".." },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_BUF b = BUF_INIT(100);

		ui_cut(&b, cases[i].s, cases[i].width);
		T_STR(buf_str(&b), cases[i].want);
	}
}

static void messages(void)
{
	struct err e;

	err_set(&e, ERR_NOT_FOUND, "sandbox not found: %s", "b\nox\xff");
	err_hint(&e, "look again");
	begin(STDERR_FILENO);
	T_INT(ui_error(&e), 1);
	T_STR(end(), "error: sandbox not found: b\n  → ox\\xff\n  → look again\n");
	begin(STDERR_FILENO);
	T_INT(ui_errorf(ERR_USAGE, "no"), 2);
	ui_warn("careful");
	ui_note("No sandboxes found.");
	ui_done("Stopped", "box", 0);
	ui_done("Started", "box", 1234 * NS_PER_MS);
	T_STR(end(), "error: no\nwarn: careful\nNo sandboxes found.\n"
		     "   ✓ Stopped      box\n"
		     "   ✓ Started      box (1.2s)\n");
}

static void quiet(void)
{
	struct ui_spin spin;

	ui_set_quiet(true);
	begin(STDERR_FILENO);
	ui_warn("careful");
	ui_done("Stopped", "box", 0);
	ui_spin_begin(&spin, false, "Waiting", "box");
	ui_spin_tick(&spin);
	ui_spin_end(&spin);
	ui_errorf(ERR_SYSTEM, "still said");
	T_STR(end(), "error: still said\n");
	ui_set_quiet(false);
}

static void reader_gone(void)
{
	AUTO_BUF b = BUF_INIT(100);
	int ends[2], keep = dup(STDOUT_FILENO), status;

	buf_add_str(&b, "nobody reads this\n");
	fflush(stdout);
	T_INT(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	dup2(ends[1], STDOUT_FILENO);
	status = ui_write_stdout(&b);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	close(ends[1]);
	T_INT(status, 0);
}

int main(void)
{
	T_RUN(table);
	T_RUN(cut);
	T_RUN(messages);
	T_RUN(quiet);
	T_RUN(reader_gone);
	return t_end();
}
