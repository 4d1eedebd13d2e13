/* Trees that go, also while somebody puts the next one in their place. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/erase.h"
#include "t.h"

#define TREES 3000

static int top = -1;

static void make(const char *name)
{
	AUTO_FREE char *below = xasprintf("%s/a", name);
	AUTO_FREE char *file = xasprintf("%s/a/f", name);

	T_INT(mkdirat(top, name, 0700), 0);
	T_INT(mkdirat(top, below, 0700), 0);
	T_INT(mknodat(top, file, S_IFREG | 0600, 0), 0);
}

static void whole_trees(void)
{
	make("one");
	T_INT(fchmodat(top, "one/a", 0, 0), 0);
	T_INT(erase_tree(top, "one"), 0);
	T_INT(faccessat(top, "one", F_OK, 0), -1);
	T_INT(erase_tree(top, "one"), 0);
}

/* As two commands do that replace one sandbox: a rename takes the place of a directory that is empty. */
static void a_name_that_is_taken_again(void)
{
	int status = 0, r = 0;
	pid_t pid = fork();

	if (pid == 0) {
		for (unsigned i = 0; i < TREES; i++) {
			make("next");
			while (renameat(top, "next", top, "gone") < 0)
				if (errno != ENOTEMPTY && errno != EEXIST)
					_exit(1);
		}
		_exit(t_bad);
	}
	while (r == 0 && waitpid(pid, &status, WNOHANG) == 0)
		r = erase_tree(top, "gone");
	T_INT(r, 0);
	if (r < 0) {
		kill(pid, SIGKILL);
		T_INT(waitpid(pid, &status, 0), pid);
	}
	T_INT(status, 0);
	T_INT(erase_tree(top, "gone"), 0);
}

int main(void)
{
	char path[] = "/tmp/cordon-unit-XXXXXX";

	if (!mkdtemp(path))
		return 1;
	top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_RUN(whole_trees);
	T_RUN(a_name_that_is_taken_again);
	close(top);
	if (rmdir(path) < 0)
		return 1;
	return t_end();
}
