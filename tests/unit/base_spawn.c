/* Starts programs of the host: by spawn(), and by spawn_begin() and spawn_end(). */
#include "base/spawn.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const shell[] = { "sh", "-c", "echo $0 $X; exit 7", NULL };
static const char *const env[] = { "X=set", NULL };

static struct spawn shell_writing_to(int out)
{
	return (struct spawn){ .path = "/bin/sh",
			       .argv = shell,
			       .envp = env,
			       .fd = { { out, 1 } },
			       .n_fds = 1,
			       .cwd_fd = -1 };
}

static void check_end(struct child *c, int from)
{
	char text[16] = "";
	int status;

	T_INT(child_wait(c, &status), 0);
	T_INT(WEXITSTATUS(status), 7);
	T_INT(read(from, text, sizeof(text) - 1), 7);
	T_STR(text, "sh set\n");
}

static void at_once(void)
{
	struct child c;
	struct err e;
	int pair[2];

	T_INT(pipe2(pair, O_CLOEXEC), 0);
	struct spawn s = shell_writing_to(pair[1]);
	T_INT(spawn(&s, &c, &e), 0);
	check_end(&c, pair[0]);
	close(pair[0]);
	close(pair[1]);
}

/* The child must not get descriptors that are opened between spawn_begin() and spawn_end(). */
static void in_two_calls(void)
{
	struct spawning *p;
	struct child c;
	struct err e;
	int pair[2];

	for (unsigned i = 0; i < 50; i++) {
		T_INT(pipe2(pair, O_CLOEXEC), 0);
		struct spawn s = shell_writing_to(pair[1]);
		T_INT(spawn_begin(&s, &p, &e), 0);
		close(pair[1]);
		int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
		T_INT(spawn_end(p, &c, &e), 0);
		check_end(&c, pair[0]);
		close(other);
		close(pair[0]);
	}
}

static void a_missing_program(void)
{
	struct spawn s = shell_writing_to(1);
	struct spawning *p;
	struct child c;
	struct err e;

	s.path = "/no/such/program";
	T_INT(spawn(&s, &c, &e), -1);
	T_INT(e.sys, ENOENT);
	T_INT(spawn_begin(&s, &p, &e), 0);
	T_INT(spawn_end(p, &c, &e), -1);
	T_INT(e.sys, ENOENT);
	T_TRUE(strstr(e.msg, "/no/such/program") != NULL);
	T_INT(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	T_INT(errno, ECHILD);
}

/* In the first round the program is not tied: it ends by itself. In the second round it is tied and
 * would sleep for 1000 seconds, but it must end with its parent. In both rounds the test waits
 * until the program has ended, which closes the pipe. */
static void tied_to_its_parent(void)
{
	static const char *const sleeper[] = { "sh", "-c", "echo up; exec sleep 1000", NULL };
	char text[8];
	int pair[2], status;
	pid_t parent;

	for (int tied = 0; tied < 2; tied++) {
		T_INT(pipe2(pair, O_CLOEXEC), 0);
		parent = fork();
		if (parent == 0) {
			struct spawn s = shell_writing_to(pair[1]);
			struct child c;
			struct err e;

			s.argv = tied ? sleeper : shell;
			s.tied = tied;
			_exit(spawn(&s, &c, &e) < 0 || read(pair[0], text, 3) != 3);
		}
		close(pair[1]);
		T_INT(waitpid(parent, &status, 0), parent);
		T_INT(status, 0);
		/* read until all writers have ended */
		while (read(pair[0], text, sizeof(text)) > 0)
			;
		close(pair[0]);
	}
}

int main(void)
{
	T_RUN(at_once);
	T_RUN(in_two_calls);
	T_RUN(a_missing_program);
	T_RUN(tied_to_its_parent);
	return t_end();
}
