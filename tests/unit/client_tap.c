/* Tests what a tap writes into a sandbox's log, before and after the number of the command is
 * known. */
#include "client/tap.h"

#include <sys/stat.h>

#include "state_home.h"

static struct tap tap;

static void begin(bool on)
{
	T_INT(mkdirat(home.fd, "sandboxes/box", 0700), 0);
	tap_init(&tap, &home, "box", on);
}

/* Returns how often WORD is in the log, or 0 if there is no log. */
static unsigned logged(const char *word)
{
	AUTO_BUF text = BUF_INIT(4 << 20);
	unsigned n = 0;

	if (io_read_file(home.fd, "sandboxes/box/logs/exec.log", &text) < 0)
		return 0;
	for (const char *p = buf_str(&text); (p = strstr(p, word)); p += strlen(word))
		n++;
	return n;
}

static void end(void)
{
	AUTO_FD dir = -1;
	struct err e = { 0 };

	T_INT(home_dir(&home, "sandboxes", &dir, &e), 0);
	T_INT(erase_tree(dir, "box"), 0);
}

static void output_waits_for_the_number(void)
{
	begin(true);
	tap_add(&tap, LOG_STDOUT, "early\n", 6);
	tap_add(&tap, LOG_STDERR, "bad\n", 4);
	T_INT(logged("early"), 0);
	tap_number(&tap, 42);
	T_INT(logged("early"), 1);
	T_INT(logged("\"id\":42"), 2);
	T_INT(logged("\"stderr\""), 1);
	tap_add(&tap, LOG_STDOUT, "late\n", 5);
	T_INT(logged("\"id\":42"), 3);
	tap_done(&tap);
	end();
}

static void a_number_that_never_comes(void)
{
	begin(true);
	tap_add(&tap, LOG_STDOUT, "early\n", 6);
	tap_done(&tap);
	T_INT(logged("early"), 1);
	T_INT(logged("\"id\":null"), 1);
	end();
}

static void a_command_that_prints_nothing_makes_no_log(void)
{
	begin(true);
	tap_number(&tap, 42);
	tap_done(&tap);
	T_TRUE(!in_home("sandboxes/box/logs"));
	end();
}

static void a_tap_that_is_off(void)
{
	begin(false);
	T_TRUE(tap_is_full(&tap));
	tap_add(&tap, LOG_STDOUT, "x\n", 2);
	T_TRUE(!tap_waits(&tap));
	tap_done(&tap);
	T_TRUE(!in_home("sandboxes/box/logs"));
	end();
}

/* When the buffer is full, the tap must ask the client to stop reading. If more output comes, the
 * tap must drop whole pieces and log a marker. */
static void output_beyond_the_buffer(void)
{
	static char piece[32768];
	unsigned n = 0;

	memset(piece, 'y', sizeof(piece));
	begin(true);
	while (!tap_waits(&tap) && n < 100) {
		tap_add(&tap, LOG_STDOUT, piece, sizeof(piece));
		n++;
	}
	T_TRUE(n < 100);
	for (unsigned i = 0; i < 100; i++)
		tap_add(&tap, LOG_STDOUT, piece, sizeof(piece));
	tap_number(&tap, 42);
	T_TRUE(!tap_waits(&tap));
	T_INT(logged("output lost"), 1);
	tap_done(&tap);
	end();
}

static void dropped_output_is_marked_in_the_log(void)
{
	begin(true);
	tap_number(&tap, 42);
	tap_missed(&tap);
	T_INT(logged("output lost"), 0);
	tap_add(&tap, LOG_STDOUT, "x\n", 2);
	tap_add(&tap, LOG_STDOUT, "x\n", 2);
	T_INT(logged("output lost"), 1);
	tap_missed(&tap);
	tap_done(&tap); /* no more output comes, so tap_done() writes the marker */
	T_INT(logged("output lost"), 2);
	end();
}

static void a_record_that_is_gone(void)
{
	begin(true);
	end();
	tap_number(&tap, 42);
	tap_add(&tap, LOG_STDOUT, "x\n", 2);
	tap_add(&tap, LOG_STDOUT, "x\n", 2);
	tap_done(&tap);
	T_TRUE(!in_home("sandboxes/box"));
}

int main(void)
{
	struct err e = { 0 };
	int dir;

	begin_home();
	T_INT(home_dir(&home, "sandboxes", &dir, &e), 0);
	close(dir);
	T_RUN(output_waits_for_the_number);
	T_RUN(a_number_that_never_comes);
	T_RUN(a_command_that_prints_nothing_makes_no_log);
	T_RUN(a_tap_that_is_off);
	T_RUN(output_beyond_the_buffer);
	T_RUN(dropped_output_is_marked_in_the_log);
	T_RUN(a_record_that_is_gone);
	end_home();
	return t_end();
}
