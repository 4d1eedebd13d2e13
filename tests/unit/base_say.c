/* Prints tables, cut texts and messages to real descriptors and reads them back. */
#include "base/say.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/table.h"
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
	struct table t;

	TABLE_BEGIN(&t, "NAME", "IMAGE", "STATUS");
	TABLE_ROW(&t, "bö", "host", "running");
	table_add(&t, "longer");
	table_add(&t, NULL);
	table_add(&t, "x\033[1m");
	begin(STDOUT_FILENO);
	T_INT(table_print(&t), 0);
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

		buf_add_cut(&b, cases[i].s, cases[i].width);
		T_STR(buf_str(&b), cases[i].want);
	}
}

static void messages(void)
{
	struct err e;

	err_set(&e, ERR_NOT_FOUND, "sandbox not found: %s", "b\nox\xff");
	err_hint(&e, "look again");
	begin(STDERR_FILENO);
	T_INT(say_error(&e), 1);
	T_STR(end(), "error: sandbox not found: b\n  → ox\\xff\n  → look again\n");
	begin(STDERR_FILENO);
	T_INT(say_errorf(ERR_USAGE, "no"), 2);
	say_warn("careful");
	say_note("No sandboxes found.");
	say_done("Stopped", "box", 0);
	say_done("Started", "box", 1234 * NS_PER_MS);
	say_already("Pulled", "i\nm", "already cached");
	say_failed("Pulling", "img");
	say_ask("Remove '%s'? [y/N]", "a\033[1m\nb");
	T_STR(end(), "error: no\nwarn: careful\nNo sandboxes found.\n"
		     "   ✓ Stopped      box\n"
		     "   ✓ Started      box (1.2s)\n"
		     "   ✓ Pulled       i\\x0am (already cached)\n"
		     "   ✗ Pulling      img\n"
		     "Remove 'a\\x1b[1m\\x0ab'? [y/N] ");
}

static void quiet(void)
{
	say_set_quiet(true);
	begin(STDERR_FILENO);
	say_warn("careful");
	say_done("Stopped", "box", 0);
	say_errorf(ERR_SYSTEM, "still said");
	T_STR(end(), "error: still said\n");
	say_set_quiet(false);
}

/* A line feed in text of a hostile image must not start a line that looks like a message of
 * cordon. */
static void plain(void)
{
	say_set_plain();
	begin(STDERR_FILENO);
	T_INT(say_errorf(ERR_INVALID, "bad tag 'a\nb'"), 1);
	T_STR(end(), "error: bad tag 'a\\x0ab'\n");
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
	status = say_output(&b);
	dup2(keep, STDOUT_FILENO);
	close(keep);
	close(ends[1]);
	T_INT(status, 0);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	T_RUN(table);
	T_RUN(cut);
	T_RUN(messages);
	T_RUN(quiet);
	T_RUN(plain);
	T_RUN(reader_gone);
	return t_end();
}
