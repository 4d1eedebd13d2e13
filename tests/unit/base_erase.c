/* Tests that a tree is erased whatever it contains, except a mount. Other processes may change the
 * tree meanwhile. Nothing beside the tree may be erased. */
#include "base/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/str.h"
#include "t.h"

#define TREES 1000
#define DEPTH 2500 /* levels: more than a process can open at once, and too many for one path */
#define NOBODY 65534
#define WIDTH 500 /* more entries than one read of a directory returns */

static char path[] = "/tmp/cordon-unit-XXXXXX";
static int top = -1;

static bool exists(const char *name)
{
	return faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make_dir(const char *name)
{
	T_INT(mkdirat(top, name, 0700), 0);
}

static void make_file(const char *name)
{
	T_INT(mknodat(top, name, S_IFREG | 0600, 0), 0);
}

static void make(const char *name)
{
	AUTO_FREE char *below = xasprintf("%s/a", name);
	AUTO_FREE char *file = xasprintf("%s/a/f", name);

	make_dir(name);
	make_dir(below);
	make_file(file);
}

static void whole_trees(void)
{
	make("one");
	T_INT(symlinkat("../kept", top, "one/link"), 0);
	T_INT(mknodat(top, "one/fifo", S_IFIFO | 0600, 0), 0);
	T_INT(fchmodat(top, "one/a", 0, 0), 0);
	make_dir("kept");
	make_file("kept/f");
	T_INT(erase_tree(top, "one"), 0);
	T_TRUE(!exists("one"));
	T_INT(erase_tree(top, "one"), 0);
	T_INT(symlinkat("kept", top, "link"), 0);
	T_INT(erase_tree(top, "link"), 0);
	T_TRUE(exists("kept/f"));
	T_INT(erase_tree(top, "kept/f/x"), -ENOTDIR);
	T_INT(erase_tree(top, "kept"), 0);
}

static void deep_trees(void)
{
	AUTO_FD at = -1;
	struct rlimit few = { 64, 64 }, before;

	make_dir("deep");
	at = openat(top, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		int next;

		T_INT(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	T_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	T_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	T_INT(erase_tree(top, "deep"), 0);
	T_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	T_TRUE(!exists("deep"));
}

static void wide_trees(void)
{
	make_dir("wide");
	for (int i = 0; i < WIDTH; i++) {
		AUTO_FREE char *name = xasprintf("wide/%d", i);

		make(name);
	}
	T_INT(erase_tree(top, "wide"), 0);
	T_TRUE(!exists("wide"));
}

/* Two processes erase the same tree, as `list` and `remove` may do. */
static void two_processes_erase_one_tree(void)
{
	for (unsigned i = 0; i < 20; i++) {
		int status = 0;
		pid_t pid;

		make_dir("both");
		for (unsigned k = 0; k < 30; k++) {
			AUTO_FREE char *name = xasprintf("both/%u", k);

			make(name);
		}
		pid = fork();
		if (pid == 0)
			_exit(erase_tree(top, "both") != 0);
		T_INT(erase_tree(top, "both"), 0);
		T_INT(waitpid(pid, &status, 0), pid);
		T_INT(status, 0);
	}
}

/* Calls erase_part() for each entry with the prefix until none is left. Returns the number of
 * calls. */
static unsigned erase_in_parts(const char *prefix, unsigned max)
{
	unsigned calls = 0;
	bool found = true;

	while (found) {
		DIR *d = fdopendir(openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		struct dirent *entry;

		found = false;
		while ((entry = readdir(d)))
			if (starts_with(entry->d_name, prefix)) {
				int r = erase_part(top, entry->d_name, prefix, max);

				T_TRUE(r == 0 || r == 1);
				found = true;
				calls++;
			}
		closedir(d);
	}
	return calls;
}

static void in_parts(void)
{
	AUTO_FD at = -1;
	unsigned calls;

	T_INT(erase_part(top, "part-nothing", "part-", 10), 0);
	make_dir("part-wide");
	for (int i = 0; i < 95; i++) {
		AUTO_FREE char *name = xasprintf("part-wide/%d", i);

		make_file(name);
	}
	T_INT(erase_part(top, "part-wide", "part-", 50), 1);
	T_INT(erase_part(top, "part-wide", "part-", 50), 0);
	T_TRUE(!exists("part-wide"));
	/* A tree of DEPTH levels. erase_part() moves every directory that is not empty to the top,
	 * so it takes about one call for each level, and no path gets long. */
	make_dir("part-deep");
	make_dir("part-deep/locked");
	at = openat(top, "part-deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		int next;

		T_INT(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	make("part-deep/locked/in");
	T_INT(fchmodat(top, "part-deep/locked", 0, 0), 0);
	T_INT(symlinkat("..", top, "part-deep/link"), 0);
	make("kept");
	calls = erase_in_parts("part-", 1000);
	T_TRUE(calls >= DEPTH && calls < DEPTH + 100);
	T_TRUE(exists("kept/a/f"));
	T_INT(erase_tree(top, "kept"), 0);
}

/* While erase_tree() erases a tree, another process gives the same name to a new tree. This happens
 * when two commands replace one sandbox. */
static void an_erased_name_is_taken_again(void)
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

/* While a directory is being emptied, a process of a live sandbox moves it, so that the ".." of the
 * directory changes. */
static void a_directory_is_moved_while_it_is_erased(void)
{
	int status = 0;
	pid_t pid;

	make_dir("others");
	for (int i = 0; i < 100; i++) {
		AUTO_FREE char *name = xasprintf("others/%d", i);

		make_file(name);
	}
	pid = fork();
	if (pid == 0)
		for (;;) {
			IGNORE(renameat(top, "live/a", top, "others/a"));
			IGNORE(renameat(top, "others/a", top, "live/a"));
		}
	for (int i = 0; i < TREES / 20; i++) {
		IGNORE(mkdirat(top, "live", 0700));
		IGNORE(mkdirat(top, "live/a", 0700));
		for (int k = 0; k < 50; k++) {
			AUTO_FREE char *name = xasprintf("live/a/%d", k);

			IGNORE(mknodat(top, name, S_IFREG | 0600, 0));
		}
		/* this may fail, because the other process interferes */
		IGNORE(erase_tree(top, "live"));
	}
	kill(pid, SIGKILL);
	T_INT(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 100; i++) {
		AUTO_FREE char *name = xasprintf("others/%d", i);

		T_TRUE(exists(name));
	}
	T_INT(erase_tree(top, "live"), 0);
	T_INT(erase_tree(top, "others"), 0);
}

/* Installs a filter in this process: each call that names a file and changes its mode is held.
 * Returns the seccomp listener, which reports the held calls and lets them go on, or -1. */
static int stop_chmod(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat2, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_chmod, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

/* Erases "swap/t" under the filter of stop_chmod(), and sets *LISTENER to the listener. Gives up
 * root's privileges first, because root could read the directory without changing its mode. */
static _Noreturn void erase_stopped(int *listener)
{
	AUTO_FD dir = openat(top, "swap", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		_exit(2);
	*listener = stop_chmod();
	_exit(*listener < 0 ? 3 : erase_tree(dir, "t") == 0);
}

static void make_swap(void)
{
	uid_t owner = geteuid() == 0 ? NOBODY : (uid_t)-1;

	make_dir("swap");
	make("swap/t");
	make_file("swap/victim");
	T_INT(symlinkat("../victim", top, "swap/link"), 0);
	T_INT(fchmodat(top, "swap/t/a", 0, 0), 0);
	T_INT(fchownat(top, "swap", owner, (gid_t)-1, 0), 0);
	T_INT(fchownat(top, "swap/t", owner, (gid_t)-1, 0), 0);
	T_INT(fchownat(top, "swap/t/a", owner, (gid_t)-1, 0), 0);
	T_INT(fchownat(top, "swap/victim", owner, (gid_t)-1, 0), 0);
}

/* erase_tree() must change the mode of a directory that it cannot read. Just before erase_tree()
 * does so, the test puts a link in the place of the directory. The file to which the link leads
 * must keep its mode. */
static void a_directory_becomes_a_link_before_its_chmod(void)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp go_on = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	int *listener = mmap(NULL, sizeof(*listener), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	int status = 0;
	long pid;

	T_TRUE(listener != MAP_FAILED);
	make_swap();
	*listener = -1;
	/* the child shares our table of descriptors, so the listener is open here, too */
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		erase_stopped(listener);
	while (__atomic_load_n(listener, __ATOMIC_SEQ_CST) < 0 &&
	       waitpid((pid_t)pid, &status, WNOHANG) == 0)
		usleep(1000);
	T_INT(ioctl(*listener, SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
	T_INT(renameat(top, "swap/t/a", top, "swap/away"), 0);
	T_INT(renameat(top, "swap/link", top, "swap/t/a"), 0);
	go_on.id = call.id;
	T_INT(ioctl(*listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on), 0);
	T_INT(waitpid((pid_t)pid, &status, 0), pid);
	T_INT(fstatat(top, "swap/victim", &st, 0), 0);
	T_INT(st.st_mode & 07777, 0600);
	close(*listener);
	munmap(listener, sizeof(*listener));
	T_INT(erase_tree(top, "swap"), 0);
}

/* A mount and the directories above the mount must stay. Everything else must be erased. */
static void mounts_are_not_entered(void)
{
	AUTO_FREE char *mount_point = xasprintf("%s/some/b/mounted", path);

	make_dir("some");
	make("some/a");
	make_dir("some/b");
	make_dir("some/b/mounted");
	make("some/c");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", mount_point, "tmpfs", 0, NULL) < 0) {
		printf("# mounts: not run: %s\n", strerror(errno));
	} else {
		make_file("some/b/mounted/f");
		T_TRUE(erase_tree(top, "some") < 0);
		T_TRUE(exists("some/b/mounted/f"));
		T_TRUE(!exists("some/a"));
		T_TRUE(!exists("some/c"));
		T_INT(umount2(mount_point, MNT_DETACH), 0);
	}
	T_INT(erase_tree(top, "some"), 0);
}

int main(void)
{
	if (!mkdtemp(path))
		return 1;
	top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	T_RUN(whole_trees);
	T_RUN(deep_trees);
	T_RUN(wide_trees);
	T_RUN(two_processes_erase_one_tree);
	T_RUN(in_parts);
	T_RUN(an_erased_name_is_taken_again);
	T_RUN(a_directory_is_moved_while_it_is_erased);
	T_RUN(a_directory_becomes_a_link_before_its_chmod);
	T_RUN(mounts_are_not_entered);
	close(top);
	if (rmdir(path) < 0)
		return 1;
	return t_end();
}
