#include "cli/console.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

static struct termios saved_terminal;
static volatile sig_atomic_t terminal_is_raw;

static void restore_terminal(void)
{
	if (terminal_is_raw) {
		IGNORE(tcsetattr(0, TCSADRAIN, &saved_terminal)); /* nothing to do if it fails */
		terminal_is_raw = 0; /* last: a signal handler must still see it */
	}
}

/* Async-signal-safe: two system calls. */
static void on_fatal_signal(int sig)
{
	restore_terminal();
	_exit(128 + sig);
}

/* Does nothing: a write beyond the caller's limit of file sizes (the log) then fails with EFBIG. */
static void on_large_file(int sig)
{
}

static void catch_signals(void)
{
	static const int ends_us[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction fatal = { .sa_handler = on_fatal_signal };
	struct sigaction large = { .sa_handler = on_large_file }, before;

	/* a signal that was ignored stays ignored: nohup and shells' background jobs rely on it */
	for (size_t i = 0; i < ARRAY_SIZE(ends_us); i++)
		if (sigaction(ends_us[i], &fatal, &before) == 0 && before.sa_handler == SIG_IGN)
			sigaction(ends_us[i], &before, NULL);
	sigaction(SIGXFSZ, &large, NULL);
}

static void make_raw(int fd)
{
	struct termios t;

	if (tcgetattr(fd, &saved_terminal) < 0)
		return;
	t = saved_terminal;
	cfmakeraw(&t);
	terminal_is_raw = 1; /* before tcsetattr(), because a signal may arrive right after it */
	if (tcsetattr(fd, TCSADRAIN, &t) < 0)
		terminal_is_raw = 0;
}

int console_begin(bool terminal)
{
	sigset_t winch;
	int resized;

	catch_signals();
	if (!terminal || !isatty(0))
		return -1;
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, NULL);
	resized = signalfd(-1, &winch, SFD_CLOEXEC | SFD_NONBLOCK);
	make_raw(0);
	return resized;
}

void console_end(int resized)
{
	restore_terminal();
	fd_closep(&resized);
}
