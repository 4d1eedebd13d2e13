/* Tests locks with time-outs. This process opens the lock file twice and holds the lock by one of
 * the two descriptors. For the kernel this is like a lock of another process. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "t.h"

static char path[] = "/tmp/base_lock.XXXXXX";

static int open_again(void)
{
	return open(path, O_RDWR | O_CLOEXEC);
}

static void a_free_lock_is_taken_at_once(void)
{
	AUTO_FD a = open_again();

	T_INT(lock_flock(a, LOCK_EX, 0), 0);
	T_INT(lock_first_byte(a, F_WRLCK, 0), 0);
	T_INT(lock_first_byte(a, F_UNLCK, 0), 0);
}

static void a_held_lock_times_out(void)
{
	AUTO_FD a = open_again();
	AUTO_FD b = open_again();

	T_INT(lock_flock(a, LOCK_EX, 0), 0);
	T_INT(lock_flock(b, LOCK_EX, 0), -ETIMEDOUT);
	T_INT(lock_flock(b, LOCK_EX, 20), -ETIMEDOUT);
	T_INT(lock_first_byte(a, F_WRLCK, 0), 0);
	T_INT(lock_first_byte(b, F_RDLCK, 20), -ETIMEDOUT);
	T_INT(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no task is left */
	T_INT(errno, ECHILD);
}

/* A child holds the lock until it sees that we wait. Then we get the lock. */
static void waiting_ends_with_the_holder(void)
{
	AUTO_FD a = open_again();
	AUTO_FD b = open_again();
	AUTO_FD c = open_again();
	pid_t me = getpid(), child;

	T_INT(lock_flock(a, LOCK_EX, 0), 0);
	child = fork();
	if (child == 0) {
		char stat[64];

		snprintf(stat, sizeof(stat), "/proc/%d/task/%d/children", (int)me, (int)me);
		/* The loop ends when the parent has two children: this process, and the task that
		 * lock_flock() starts to wait for the lock. */
		for (;;) {
			AUTO_FD fd = open(stat, O_RDONLY | O_CLOEXEC);
			char text[256] = "";
			ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

			if (n < 0 || strchr(strchr(text, ' ') ? strchr(text, ' ') + 1 : "", ' '))
				break;
		}
		_exit(flock(a, LOCK_UN) < 0);
	}
	T_INT(lock_flock(b, LOCK_EX, 30000), 0);
	T_INT(flock(c, LOCK_EX | LOCK_NB), -1);
	T_INT(waitpid(child, NULL, 0), child);
}

static void on_signal(int sig)
{
}

static void no_state_of_the_process_changes(void)
{
	AUTO_FD a = open_again();
	AUTO_FD b = open_again();
	struct sigaction mine = { .sa_handler = on_signal }, after;
	sigset_t before_mask, after_mask;

	sigaction(SIGALRM, &mine, NULL);
	sigprocmask(SIG_SETMASK, NULL, &before_mask);
	T_INT(lock_flock(a, LOCK_EX, 0), 0);
	T_INT(lock_flock(b, LOCK_EX, 5), -ETIMEDOUT);
	sigaction(SIGALRM, NULL, &after);
	sigprocmask(SIG_SETMASK, NULL, &after_mask);
	T_TRUE(after.sa_handler == on_signal);
	T_INT(memcmp(&before_mask, &after_mask, 8), 0);
}

int main(void)
{
	close(mkstemp(path));
	T_RUN(a_free_lock_is_taken_at_once);
	T_RUN(a_held_lock_times_out);
	T_RUN(waiting_ends_with_the_holder);
	T_RUN(no_state_of_the_process_changes);
	unlink(path);
	return t_end();
}
