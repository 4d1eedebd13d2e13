/* The supervisor of one running sandbox; see supervisor/supervisor.h. client/launch.c starts it.
 * With an option, this program only cleans up and then ends: it sweeps, erases the home, or
 * releases what one sandbox has claimed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "state/record_config.h"
#include "supervisor/priority.h"
#include "supervisor/supervisor.h"
#include "wire/leash.h"

/* Returns false if the command that started us could not make the record. That command tells the
 * user why. */
static bool receive_record(struct supervisor *s)
{
	int fds[LEASH_RECORD_FDS];
	unsigned n = 0;
	char word;
	ssize_t got;

	do
		got = fdpass_recv(s->leash, &word, 1, fds, ARRAY_SIZE(fds), &n);
	while (got == -EINTR);
	if (got != 1 || n < LEASH_RECORD_LOG)
		return false;
	s->record_dir = fds[LEASH_RECORD_DIR];
	s->lock = fds[LEASH_RECORD_LOCK];
	if (n > LEASH_RECORD_LOG) /* without this descriptor our messages are lost */
		IGNORE(dup2(fds[LEASH_RECORD_LOG], STDERR_FILENO));
	return true;
}

static bool get_record(struct supervisor *s)
{
	int r;

	if (home_open(&s->home, &s->failure) < 0 || !receive_record(s) ||
	    record_read_config(s->record_dir, &s->record, &s->failure) < 0)
		return false;
	log_set(s->record.spec.log_level, "supervisor", true);
	r = state_read(s->record_dir, &s->record.state);
	if (r == 0 || r == -ENOENT || r == -EINVAL)
		return true;
	/* At the first start the state file does not exist (ENOENT). A damaged file (EINVAL) is
	 * replaced. After any other error we do not start, because the state in the file would be
	 * lost. */
	if (r == -ENOTSUP)
		log_line(LOG_ERROR, "this sandbox was last run by a newer cordon");
	else
		log_line(LOG_ERROR, "read 'state.json': %s", strerror(-r));
	return false;
}

/* Called when a file reaches the size limit of this user. Does nothing, because it is enough that
 * the write fails. We use a handler and not SIG_IGN, because programs that we execute would inherit
 * SIG_IGN. */
static void on_large_file(int sig)
{
}

int main(int argc, char **argv)
{
	struct sigaction large = { .sa_handler = on_large_file };
	static struct supervisor s;

	sigaction(SIGXFSZ, &large, NULL);
	umask(022); /* the user's umask must not affect our files or the sandbox's commands */
	if (argc == 2 && strcmp(argv[1], "--sweep") == 0)
		return supervisor_sweep();
	if (argc == 2 && strcmp(argv[1], "--erase-home") == 0)
		return supervisor_erase_home();
	if (argc == 3 && strcmp(argv[1], "--release") == 0)
		return supervisor_release(argv[2]);
	if (argc != 2 || fcntl(LEASH_FD, F_GETFD) < 0) {
		fputs("cordon-supervisor: started by cordon, not by hand\n", stderr);
		return 2;
	}
	s.leash = LEASH_FD;
	s.connection = fcntl(LEASH_FD_CONNECTION, F_GETFD) < 0 ? -1 : LEASH_FD_CONNECTION;
	s.attended = s.connection >= 0;
	s.guest_listener = s.control = -1;
	for (int fd = LEASH_FD; fd <= LEASH_FD_CONNECTION; fd++)
		IGNORE(fcntl(fd, F_SETFD, FD_CLOEXEC)); /* LEASH_FD_CONNECTION may be absent */
	s.record.dir = -1;
	priority_give_up(); /* before the sandbox has a process that would inherit our priority */
	s.engine = &engine_process;
	s.engine->begin(&s);
	if (get_record(&s))
		return supervisor_run(&s);
	s.engine->done(&s);
	return 1;
}
