#include "cli/console.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

static struct termios saved_terminal;
static volatile sig_atomic_t terminal_is_raw;

/* The bytes that switch off the terminal modes that a command has switched on. There are two slots,
 * so that a signal handler can read one slot while the other slot is written. */
static struct {
	char text[SCREEN_TEXT_MAX_BYTES];
	size_t n;
} leave[2];
static volatile sig_atomic_t leave_slot;

void console_screen(const struct screen *s)
{
	int slot = !leave_slot;
	struct buf b = BUF_IN(leave[slot].text, sizeof(leave[slot].text));

	screen_leave(s, &b);
	leave[slot].n = b.n;
	buf_done(&b);
	leave_slot = slot;
}

/* Switches off the terminal modes. Makes only system calls, because a signal handler calls it. */
static void leave_screen(void)
{
	/* if this fails, the terminal is gone, and there is nothing to switch off */
	IGNORE(io_write_all(STDOUT_FILENO, leave[leave_slot].text, leave[leave_slot].n));
	leave[leave_slot].n = 0;
}

void console_leave(void)
{
	bool asked = leave[leave_slot].n > 0;

	if (!terminal_is_raw)
		return;
	leave_screen();
	/* if the command has switched modes on, erase what it may have drawn below the cursor */
	IGNORE(io_write_all(STDOUT_FILENO, "\r\n\033[J", asked ? 5 : 2));
}

static void restore_terminal(void)
{
	if (terminal_is_raw) {
		/* after a failure there is nothing else to try */
		IGNORE(tcsetattr(0, TCSADRAIN, &saved_terminal));
		/* clear this last: if a signal comes earlier, its handler must restore the
		 * terminal */
		terminal_is_raw = 0;
	}
}

/* Restores the terminal and exits. Makes only system calls, which are async-signal-safe. */
static void on_fatal_signal(int sig)
{
	if (terminal_is_raw)
		leave_screen();
	restore_terminal();
	_exit(128 + sig);
}

/* Does nothing. Because of this handler, a write beyond the user's limit of file sizes fails
 * with EFBIG and does not kill us. */
static void on_large_file(int sig)
{
}

static void catch_signals(void)
{
	static const int ends_us[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction fatal = { .sa_handler = on_fatal_signal };
	struct sigaction large = { .sa_handler = on_large_file }, before;

	/* a signal that was ignored stays ignored: nohup and background jobs of shells rely on
	 * that */
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
	terminal_is_raw = 1; /* before tcsetattr(): a signal may arrive right after tcsetattr() */
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

int console_hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

static void read_line(int tty, struct buf *out)
{
	char c;

	while (!interrupted && read(tty, &c, 1) == 1 && c != '\n')
		buf_add_char(out, c);
}

/* Reads a line while the terminal does not show what is typed. If a signal interrupts the read,
 * restores the terminal and then dies by that signal. */
static void read_hidden(int tty, const struct termios *before, struct buf *out)
{
	static const int ends_us[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction catch = { .sa_handler = on_interrupt };
	struct sigaction was[ARRAY_SIZE(ends_us)];
	struct termios hidden = *before;

	for (size_t i = 0; i < ARRAY_SIZE(ends_us); i++)
		if (sigaction(ends_us[i], NULL, &was[i]) == 0 && was[i].sa_handler != SIG_IGN)
			sigaction(ends_us[i], &catch, NULL);
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(tty, TCSAFLUSH, &hidden);
	read_line(tty, out);
	tcsetattr(tty, TCSAFLUSH, before);
	for (size_t i = 0; i < ARRAY_SIZE(ends_us); i++)
		sigaction(ends_us[i], &was[i], NULL);
	if (interrupted)
		raise(interrupted);
}

int console_ask_secret(const char *prompt, struct buf *out, struct err *e)
{
	AUTO_FD tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct termios before;

	if (tty < 0 || tcgetattr(tty, &before) < 0)
		return err_set(e, ERR_INVALID, "there is no terminal to ask for a password");
	/* ignore a failed write: if the terminal is gone, the read below fails, too */
	IGNORE(io_write_all(tty, prompt, strlen(prompt)));
	read_hidden(tty, &before, out);
	IGNORE(io_write_all(tty, "\n", 1));
	return 0;
}
