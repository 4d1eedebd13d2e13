/*
 * The floor: the least that a program can do to run a command in namespaces of its own, with the
 * host's /usr read-only in its root. This program makes one clone3, one tmpfs, one bind mount and
 * /proc, and then calls pivot_root and exec. It has no filter, no device nodes, no limits and no
 * pid 1 of its own. No real sandbox can be faster.
 *
 * usage: floor PROGRAM [ARG…]     run a command
 *        floor --idle             do nothing in the namespaces until killed; measures the memory of
 *                                 the namespaces alone
 *        floor --pause            do nothing until killed; this is the smallest payload for idle
 *                                 sandboxes
 */
#include <errno.h>
#include <signal.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/io.h"

#define LINK_BYTES 64

static _Noreturn void die(const char *what)
{
	perror(what);
	_exit(125);
}

static int mount_new(const char *type, const char *at)
{
	int fs = sys_fsopen(type, FSOPEN_CLOEXEC), tree;

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree < 0 ? -1 : sys_move_mount(tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Copies a link of the host that leads into /usr, such as /bin. If HOST is no link, does
 * nothing. */
static void copy_link(const char *host, const char *here)
{
	char to[LINK_BYTES];
	ssize_t n = readlink(host, to, sizeof(to) - 1);

	if (n <= 0)
		return;
	to[n] = '\0';
	if (symlink(to, here) < 0)
		die(here);
}

static void build_root(void)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	int usr =
		sys_open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (usr < 0 || sys_mount_setattr(usr, "", AT_EMPTY_PATH | AT_RECURSIVE, &ro) < 0)
		die("/usr");
	if (mount_new("tmpfs", "/tmp") < 0 || chdir("/tmp") < 0)
		die("tmpfs");
	if (mkdir("usr", 0755) < 0 || mkdir("proc", 0755) < 0 ||
	    sys_move_mount(usr, "", AT_FDCWD, "usr", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die("usr");
	copy_link("/bin", "bin");
	copy_link("/lib", "lib");
	copy_link("/lib64", "lib64");
	if (mount_new("proc", "proc") < 0)
		die("proc");
	if (sys_pivot_root(".", ".") < 0 || syscall(SYS_umount2, ".", 2 /* MNT_DETACH */) < 0 ||
	    chdir("/") < 0)
		die("pivot_root");
}

static void write_maps(uid_t uid, gid_t gid)
{
	char line[LINK_BYTES];

	if (io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny") < 0)
		die("setgroups");
	snprintf(line, sizeof(line), "0 %u 1", uid);
	if (io_write_file(AT_FDCWD, "/proc/self/uid_map", line) < 0)
		die("uid_map");
	snprintf(line, sizeof(line), "0 %u 1", gid);
	if (io_write_file(AT_FDCWD, "/proc/self/gid_map", line) < 0)
		die("gid_map");
}

int main(int argc, char **argv)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
					    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
					    CLONE_NEWNET,
				   .exit_signal = SIGCHLD };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "--pause") == 0)
		for (;;)
			pause();
	pid = sys_clone3(&args);
	if (pid < 0)
		die("clone3");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_maps(uid, gid);
		build_root();
		while (strcmp(argv[1], "--idle") == 0)
			pause();
		execv(argv[1], argv + 1);
		die(argv[1]);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
