/*
 * Shows the log of a sandbox. `cordon logs` checks the options, finds the sandbox and executes this
 * program. cordon-logs is a program of its own because it needs a library for regular expressions
 * (pcre2). If `cordon` itself were linked with this library, every command of `cordon` would start
 * more slowly. The sandbox's directory is descriptor 3; LOGS_USAGE shows the options.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/say.h"
#include "logs/show.h"

#define RECORD_FD 3
#define LOGS_USAGE                                                                            \
	"usage: cordon-logs [--tail N] [--since NS] [--until NS] [--sources BITS] [--id N]\n" \
	"                   [--grep REGEX] [--follow] [--json] [--timestamps] [--show-id]\n"  \
	"                   [--color-sessions] [--raw | --terminal] 3<SANDBOX-DIRECTORY\n"

enum option_id {
	TAIL = 1,
	SINCE,
	UNTIL,
	SOURCES,
	ID,
	GREP,
	FOLLOW,
	JSON,
	TIMES,
	IDS,
	RAW,
	TERMINAL,
	COLOURS
};

static const struct option options[] = {
	// clang-format off
	{ "tail",           required_argument, NULL, TAIL },
	{ "since",          required_argument, NULL, SINCE },
	{ "until",          required_argument, NULL, UNTIL },
	{ "sources",        required_argument, NULL, SOURCES },
	{ "id",             required_argument, NULL, ID },
	{ "grep",           required_argument, NULL, GREP },
	{ "follow",         no_argument,       NULL, FOLLOW },
	{ "json",           no_argument,       NULL, JSON },
	{ "timestamps",     no_argument,       NULL, TIMES },
	{ "show-id",        no_argument,       NULL, IDS },
	{ "raw",            no_argument,       NULL, RAW },
	{ "terminal",       no_argument,       NULL, TERMINAL },
	{ "color-sessions", no_argument,       NULL, COLOURS },
	{ NULL, 0, NULL, 0 },
	// clang-format on
};

static int number(const char *s, uint64_t max, uint64_t *ret, struct err *e)
{
	return parse_u64(s, 0, max, ret) < 0 ? err_set(e, ERR_USAGE, "'%s' is not a number", s) : 0;
}

static int take(struct show *s, int id, struct err *e)
{
	uint64_t v;

	switch (id) {
	case TAIL:
		return number(optarg, UINT64_MAX, &s->tail, e);
	case SINCE:
		return number(optarg, UINT64_MAX, &s->filter.since_ns, e);
	case UNTIL:
		return number(optarg, UINT64_MAX, &s->filter.until_ns, e);
	case SOURCES:
		if (number(optarg, (1u << (LOG_NET + 1)) - 1, &v, e) < 0)
			return -1;
		s->filter.sources = (unsigned)v;
		return 0;
	case ID:
		return number(optarg, UINT64_MAX, &s->filter.id, e);
	case GREP:
		return filter_grep(&s->filter, optarg, e);
	case FOLLOW:
		s->follow = true;
		return 0;
	case JSON:
		s->render.json = true;
		return 0;
	case TIMES:
		s->render.timestamps = true;
		return 0;
	case IDS:
		s->render.show_id = true;
		return 0;
	case RAW:
		s->render.bytes = RENDER_RAW;
		return 0;
	case TERMINAL:
		s->render.bytes = RENDER_TERMINAL;
		return 0;
	case COLOURS:
		s->render.colour_sessions = true;
		return 0;
	default:
		return err_set(e, ERR_USAGE, "bad options");
	}
}

/* After this call the program can only read the sandbox's record (its directory), write its output,
 * and make and write files in the directory `logs`. The lock of the logs is such a file. */
static int confine(struct err *e)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	const uint64_t lock = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;
	AUTO_FD logs = openat(RECORD_FD, "logs", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct confine_files f;
	int r = -1;

	if (confine_core(e) == 0 && confine_capabilities(0, e) == 0 &&
	    confine_files_begin(&f, e) == 0) {
		if (confine_files_allow(&f, RECORD_FD, read, e) == 0 &&
		    (logs < 0 || confine_files_allow(&f, logs, lock, e) == 0) &&
		    confine_files_end(&f, e) == 0)
			r = confine_calls(reader_filter, reader_filter_len, e);
		confine_files_done(&f);
	}
	return r < 0 ? err_wrap(e, "confine cordon-logs") : 0;
}

/* Blocks SIGINT and returns a descriptor that becomes readable when SIGINT arrives. SIGINT must not
 * kill us, because it is no failure if a user interrupts `--follow`. */
static int hold_interrupt(struct err *e)
{
	sigset_t interrupt;
	int fd;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	fd = signalfd(-1, &interrupt, SFD_CLOEXEC);
	return fd < 0 ? err_sys(e, errno, "wait for an interrupt") : fd;
}

int main(int argc, char **argv)
{
	struct show s = { .filter = { .sources = FILTER_SOURCES_DEFAULT, .until_ns = UINT64_MAX },
			  .tail = UINT64_MAX,
			  .stop_fd = -1 };
	struct err e = { 0 };
	int id, r = 0;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cordon-logs %s\n", CORDON_VERSION);
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	while (r == 0 && (id = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = take(&s, id, &e);
	if (r == 0 && optind < argc)
		r = err_set(&e, ERR_USAGE, "unexpected '%s'", argv[optind]);
	/* A sandbox that has just started has no directory `logs` yet. With `--follow` we make
	 * this directory, because we watch it for the first line. It is fine if mkdirat() fails
	 * because the directory exists. After any other failure, show_logs() finds no directory. */
	if (r == 0 && s.follow) {
		IGNORE(mkdirat(RECORD_FD, "logs", 0700));
		s.stop_fd = hold_interrupt(&e);
		r = s.stop_fd < 0 ? -1 : 0;
	}
	if (r == 0)
		r = confine(&e);
	if (r == 0)
		r = show_logs(&s, RECORD_FD, &e);
	filter_done(&s.filter);
	if (r == 0)
		return 0;
	r = say_error(&e);
	if (e.code == ERR_USAGE)
		fputs(LOGS_USAGE, stderr);
	return r;
}
