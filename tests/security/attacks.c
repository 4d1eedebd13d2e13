/*
 * Attacks on the isolation of a sandbox. The tests of tests/security run these attacks inside a
 * sandbox.
 *
 *   attacks NAME [ARG]
 *
 * Each attack really makes its calls, and prints a line with the word "OPEN" for each call with a
 * wrong result. In most attacks every call must fail. In the attacks NAME-allowed, most calls must
 * work. If the status is 0, no call had a wrong result. Calls that may either work or fail are not
 * judged. Some attacks do not judge any call: they only use up resources, fork or send signals, and
 * the test checks the effect. Many of these go on until they are killed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#define SYS_fspick 433
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

static int n_open;

static void opened(const char *what)
{
	printf("OPEN %s\n", what);
	n_open++;
}

static void opened_n(const char *what, long n)
{
	printf("OPEN %s %ld\n", what, n);
	n_open++;
}

/* Reports CALL as a hole if CALL succeeds. */
#define REFUSED(call)                  \
	do {                           \
		errno = 0;             \
		if ((long)(call) >= 0) \
			opened(#call); \
	} while (0)

/* Runs WHAT in a child, because WHAT may block or never return. The child is killed after 5
 * seconds. Returns the wait status of the child, or -1. */
static int in_child(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0) {
		n_open = 0;
		alarm(5);
		what();
		fflush(stdout);
		_exit(n_open != 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		n_open++;
	return status;
}

/* --- privileges of files ---------------------------------------------------------------------- */

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#define SHARED "/w" /* a directory of the host; all other files belong to the sandbox */

struct how {
	uint64_t flags, mode, resolve;
};
struct attribute_args {
	uint64_t value;
	uint32_t size, flags;
};

/* Two forms of the attribute that gives a file CAP_SETUID: the first without the id of a
 * namespace's root, the second with this id. */
static const unsigned char capable[24] = { 1, 0, 0, 2, 0x80 },
			   capable_of_root[24] = { 1, 0, 0, 3, 0x80 };

static void make_file(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0755);
	if (fd < 0)
		opened("no file can be made");
	close(fd);
}

/* Returns true if PATH gives privileges to the user that runs it. */
static bool is_privileged(const char *path)
{
	char value[64];
	struct stat st;

	return (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 06000) ||
	       lgetxattr(path, "security.capability", value, sizeof(value)) > 0;
}

static void must_be_plain(const char *path, const char *how)
{
	if (is_privileged(path))
		opened(how);
	unlink(path);
}

static void must_be(long r, int want, const char *what)
{
	int got = r < 0 ? errno : 0;

	if (got != want) {
		printf("OPEN %s: %s, not %s\n", what, strerror(got), strerror(want));
		n_open++;
	}
}

static void must_have_mode(const char *path, unsigned mode)
{
	struct stat st;

	if (stat(path, &st) < 0 || (st.st_mode & 07777) != mode) {
		printf("OPEN %s has mode %o, not %o\n", path, st.st_mode & 07777, mode);
		n_open++;
	}
}

/* Creates files with set-id bits. */
static void births(void)
{
	struct how how = { O_RDWR | O_CREAT, 06755, 0 };
	char path[64];
	int fd, dir = open(SHARED, O_RDONLY | O_DIRECTORY);

	umask(0);
	syscall(SYS_open, SHARED "/a", O_RDWR | O_CREAT, 06755);
	must_be_plain(SHARED "/a", "open");
	syscall(SYS_openat, dir, "a", O_RDWR | O_CREAT | O_EXCL, 02755);
	must_be_plain(SHARED "/a", "openat");
	syscall(SYS_creat, SHARED "/a", 04755);
	must_be_plain(SHARED "/a", "creat");
	syscall(SYS_mknod, SHARED "/a", S_IFREG | 06755, 0);
	must_be_plain(SHARED "/a", "mknod");
	syscall(SYS_mknodat, dir, "a", 06755, 0);
	must_be_plain(SHARED "/a", "mknodat");
	syscall(SYS_openat2, dir, "a", &how, sizeof(how));
	must_be_plain(SHARED "/a", "openat2");
	fd = (int)syscall(SYS_openat, dir, ".", O_TMPFILE | O_RDWR, 06755);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && linkat(AT_FDCWD, path, dir, "a", AT_SYMLINK_FOLLOW) == 0)
		must_be_plain(SHARED "/a", "O_TMPFILE");
	close(dir);
	umask(022);
}

/* Calls chmod with each way to name a file of the shared directory. */
static void chmods(void)
{
	char path[64], way[128];
	int fd, named, dir = open(SHARED, O_RDONLY | O_DIRECTORY);

	make_file(SHARED "/a");
	fd = open(SHARED "/a", O_RDONLY);
	named = open(SHARED "/a", O_PATH);
	unlink("/root/link");
	if (symlink(SHARED "/a", "/root/link") < 0)
		opened("no link can be made");
	must_be(syscall(SYS_chmod, SHARED "/a", 06755), 0, "chmod");
	must_be(syscall(SYS_chmod, "/root/link", 06755), 0, "chmod of a link");
	must_be(syscall(SYS_chmod, "/root/.." SHARED "/./a", 04755), 0, "chmod by a detour");
	must_be(syscall(SYS_fchmod, fd, 02755), 0, "fchmod");
	must_be(syscall(SYS_fchmod, named, 02755), EBADF, "fchmod of a name");
	must_be(syscall(SYS_fchmod, 1000, 02755), EBADF, "fchmod of nothing");
	must_be(syscall(SYS_fchmodat, dir, "a", 06755), 0, "fchmodat");
	must_be(syscall(SYS_fchmodat, 1000, SHARED "/a", 06755), 0, "fchmodat, absolute");
	must_be(syscall(SYS_fchmodat, 1000, "a", 06755), EBADF, "fchmodat from nothing");
	must_be(syscall(SYS_fchmodat, fd, "a", 06755), ENOTDIR, "fchmodat from a file");
	must_be(syscall(SYS_fchmodat2, named, "", 06755, AT_EMPTY_PATH), 0, "fchmodat2, empty");
	must_be(syscall(SYS_fchmodat2, dir, "a", 06755, AT_SYMLINK_NOFOLLOW), 0, "fchmodat2");
	must_be(syscall(SYS_fchmodat2, dir, "a", 06755, 1), EINVAL, "fchmodat2, bad flags");
	must_be(syscall(SYS_chmod, SHARED "/none", 06755), ENOENT, "chmod of nothing");
	must_be(syscall(SYS_chmod, "", 06755), ENOENT, "chmod of an empty path");
	must_be(syscall(SYS_chmod, (char *)8, 06755), EFAULT, "chmod of nowhere");
	for (unsigned i = 0; i < 5; i++) {
		static const char *const ways[] = { "/proc/self/fd/%d", "/proc/thread-self/fd/%d",
						    "/dev/fd/%d", "/proc//%2$d/fd/%1$d",
						    "/proc/self/cwd/a" };

		if (chdir(SHARED) < 0)
			opened("no way into the directory");
		snprintf(path, sizeof(path), ways[i], named, (int)getpid());
		snprintf(way, sizeof(way), "chmod of %s", ways[i]);
		must_be(syscall(SYS_chmod, path, 06755), 0, way);
	}
	must_be_plain(SHARED "/a", "chmod");
	fd = open(SHARED, O_TMPFILE | O_RDWR, 0755);
	if (fd >= 0) { /* not every file system has O_TMPFILE */
		must_be(syscall(SYS_fchmod, fd, 06755), 0, "fchmod of a file without a name");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		must_be(linkat(AT_FDCWD, path, dir, "a", AT_SYMLINK_FOLLOW), 0, "linkat");
		must_be_plain(SHARED "/a", "O_TMPFILE, fchmod");
	}
	close(dir);
}

static void attributes(void)
{
	const char *name = "security.capability";
	struct attribute_args args = { (uintptr_t)capable, 20, 0 };
	int fd;

	make_file(SHARED "/a");
	fd = open(SHARED "/a", O_RDWR);
	setxattr(SHARED "/a", name, capable, 20, 0);
	setxattr(SHARED "/a", name, capable_of_root, 24, 0);
	lsetxattr(SHARED "/a", name, capable, 20, 0);
	fsetxattr(fd, name, capable, 20, XATTR_CREATE);
	syscall(SYS_setxattrat, AT_FDCWD, SHARED "/a", 0, name, &args, sizeof(args));
	must_be(setxattr(SHARED "/a", name, capable, 20, 0), EPERM, "capabilities");
	must_be(syscall(SYS_setxattr, SHARED "/a", "user.x", capable, 1ul << 32 | 20, 0), E2BIG,
		"an attribute of 4 GiB");
	must_be_plain(SHARED "/a", "capabilities");
	close(fd);
}

/* Tries to move files with privileges from the sandbox to the host's directory. Also checks the
 * deputy, a process of ours that makes some calls, such as chmod, in place of commands
 * (guest/deputy.h): the deputy must resolve paths as its caller sees them. */
static void detours(void)
{
	pid_t pid;

	make_file("/root/own");
	must_be(chmod("/root/own", 06755), 0, "chmod in the own layer");
	must_be(rename("/root/own", SHARED "/a"), EXDEV, "rename");
	must_be(link("/root/own", SHARED "/a"), EXDEV, "link");
	pid = fork();
	if (pid == 0) { /* the child resolves paths in its own root */
		make_file(SHARED "/root");
		if (chroot(SHARED) < 0 || chdir("/") < 0)
			_exit(errno == EPERM ? 0 : 1);
		syscall(SYS_chmod, "/root", 06755);
		syscall(SYS_chmod, "/../../root", 06755);
		syscall(SYS_chmod, "root", 06755);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	must_be_plain(SHARED "/root", "chroot");
	must_be_plain(SHARED "/a", "a detour");
}

static volatile bool over;
static char swapped[64];

static void *swap_path(void *arg)
{
	while (!over) {
		memcpy(swapped, SHARED "/a", sizeof(SHARED "/a"));
		memcpy(swapped, "/r/a", sizeof("/r/a"));
	}
	return NULL;
}

static void *swap_link(void *arg)
{
	while (!over) {
		unlink("/r/new");
		(void)!(symlink(SHARED "/a", "/r/new"));
		rename("/r/new", "/r/link");
		(void)!(symlink("/r/a", "/r/new"));
		rename("/r/new", "/r/link");
	}
	return NULL;
}

static volatile int swapped_fd;

static void *swap_fd(void *arg)
{
	int ours = open("/r/a", O_RDONLY), theirs = open(SHARED "/a", O_RDONLY);

	while (!over) {
		dup2(ours, swapped_fd);
		dup2(theirs, swapped_fd);
	}
	return NULL;
}

/* The deputy must change the file that it checked, even if other threads swap paths or
 * descriptors. */
static void races(void)
{
	pthread_t t[3];

	mkdir("/r", 0755);
	make_file("/r/a");
	make_file(SHARED "/a");
	swapped_fd = open("/r/a", O_RDONLY);
	memcpy(swapped, "/r/a", sizeof("/r/a"));
	pthread_create(&t[0], NULL, swap_path, NULL);
	pthread_create(&t[1], NULL, swap_link, NULL);
	pthread_create(&t[2], NULL, swap_fd, NULL);
	for (unsigned i = 0; i < 60 && !is_privileged(SHARED "/a"); i++) {
		syscall(SYS_chmod, swapped, 06755);
		syscall(SYS_chmod, "/r/link", 06755);
		syscall(SYS_fchmod, swapped_fd, 06755);
	}
	over = true;
	for (unsigned i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	must_be_plain(SHARED "/a", "a race");
}

static void attack_privileges(void)
{
	births();
	chmods();
	attributes();
	detours();
	races();
}

/* Runs in a sandbox that may write to the shared directory. Passes a descriptor of a file in this
 * directory, and one of the directory itself, to the first process that connects. */
static void attack_lend(void)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX, .sun_path = SHARED "/socket" };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fds[2], s;
	char room[CMSG_SPACE(sizeof(fds))] = { 0 }, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	make_file(SHARED "/lent");
	fds[0] = open(SHARED "/lent", O_RDWR);
	fds[1] = open(SHARED, O_RDONLY | O_DIRECTORY);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	if (bind(listener, (struct sockaddr *)&place, sizeof(place)) < 0 ||
	    listen(listener, 1) < 0 || chmod(SHARED "/socket", 0777) < 0)
		opened("no socket can be made");
	s = accept(listener, NULL, NULL);
	if (s < 0 || sendmsg(s, &m, 0) != 1 || read(s, &byte, 1) != 0)
		opened("no descriptor can be sent");
}

/* Runs in another sandbox, in which the shared directory is read-only. Tries to make files with
 * privileges through the descriptors that attack_lend() passes. */
static void attack_borrow(void)
{
	struct sockaddr_un place = { .sun_family = AF_UNIX, .sun_path = SHARED "/socket" };
	struct how how = { O_RDWR | O_CREAT, 06755, 0 };
	struct attribute_args args = { (uintptr_t)capable, 20, 0 };
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fds[2];
	char room[CMSG_SPACE(sizeof(fds))] = { 0 }, byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};

	if (connect(s, (struct sockaddr *)&place, sizeof(place)) < 0)
		return; /* the sandbox cannot reach the sender, so it gets no descriptor */
	if (recvmsg(s, &m, 0) != 1 || !CMSG_FIRSTHDR(&m)) {
		opened("no descriptor came");
		return;
	}
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
	umask(0);
	fchmod(fds[0], 06755);
	fsetxattr(fds[0], "security.capability", capable, 20, 0);
	syscall(SYS_setxattrat, fds[0], "", AT_EMPTY_PATH, "security.capability", &args,
		sizeof(args));
	must_be_plain(SHARED "/lent", "a file that was lent");
	syscall(SYS_openat2, fds[1], "b", &how, sizeof(how));
	must_be_plain(SHARED "/b", "openat2 in a directory that was lent");
	syscall(SYS_mknodat, fds[1], "c", 06755, 0);
	must_be_plain(SHARED "/c", "mknodat in a directory that was lent");
}

/* Runs WHAT as USER, because the deputy must act with the ids of its caller. Returns the exit
 * status of WHAT, 111 if the process cannot become USER, or -1 if it does not exit. */
static int as_user(unsigned user, int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgid(user) < 0 || setuid(user) < 0)
			_exit(111);
		_exit(what());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int chmod_of_roots_file(void)
{
	return chmod("/r/a", 04755) < 0 ? errno : 0;
}

static int chmod_out_of_reach(void)
{
	return chmod("/r/closed/a", 04755) < 0 ? errno : 0;
}

/* Makes calls that must work: calls of package managers on the sandbox's own files, and changes to
 * modes without privileges. Also checks that another user cannot change root's files, and that a
 * shared file loses its set-id bits. */
static void attack_privileges_allowed(void)
{
	char value[64];
	int r;

	mkdir("/r", 0755);
	make_file("/r/a");
	must_be(chmod("/r/a", 06755), 0, "chmod");
	must_have_mode("/r/a", 06755);
	must_be(setxattr("/r/a", "security.capability", capable, 20, 0), 0, "capabilities");
	if (getxattr("/r/a", "security.capability", value, sizeof(value)) != 20)
		opened("capabilities are not there");
	mkdir("/r/closed", 0700);
	make_file("/r/closed/a");
	r = as_user(1000, chmod_of_roots_file);
	if (r != EPERM && r != 111) /* with one id there is no other user */
		opened_n("another's file is changed, error", r);
	r = as_user(1000, chmod_out_of_reach);
	if (r != EACCES && r != 111)
		opened_n("a file out of reach is changed, error", r);
	mkdir(SHARED "/d", 0755);
	must_be(chmod(SHARED "/d", 02775), 0, "chmod of a directory");
	must_have_mode(SHARED "/d", 02775);
	make_file(SHARED "/a");
	must_be(chmod(SHARED "/a", 06754), 0, "chmod of a shared file");
	must_have_mode(SHARED "/a", 0754);
	must_be(chmod(SHARED "/a", 01644), 0, "chmod without a privilege");
	must_have_mode(SHARED "/a", 01644);
	r = setxattr(SHARED "/a", "user.sum", capable, 20, 0);
	if (r == 0 && getxattr(SHARED "/a", "user.sum", value, sizeof(value)) != 20)
		opened("an attribute of 20 bytes is not there");
	unlink(SHARED "/a");
	rmdir(SHARED "/d");
}

static const struct {
	const char *name;
	unsigned long flag;
} namespaces[] = {
	{ "user", CLONE_NEWUSER },     { "mnt", CLONE_NEWNS },  { "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },       { "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP }, { "time", 0x00000080 },
};
#define N_NAMESPACES (sizeof(namespaces) / sizeof(namespaces[0]))

/* Tries to make nested namespaces by every call and every flag, alone and together with other
 * flags, and to enter the namespaces of this process and of pid 1. */
static void attack_namespaces(void)
{
	for (unsigned i = 0; i < N_NAMESPACES; i++) {
		unsigned long flag = namespaces[i].flag;
		struct {
			uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack,
				stack_size, tls;
		} args = { .flags = flag, .exit_signal = SIGCHLD };
		long pid;
		char path[64];
		int fd;

		if (syscall(SYS_unshare, flag) == 0)
			opened_n("unshare", (long)flag);
		if (syscall(SYS_unshare, flag | CLONE_NEWUSER) == 0)
			opened_n("unshare with user", (long)flag);
		/* the kernel ignores the upper half of the register, but a filter may look at it */
		if (syscall(SYS_unshare, flag | (1ul << 40)) == 0)
			opened_n("unshare with high bits", (long)flag);
		/* in the flags of clone, the bit 0x80 is part of the exit signal */
		if (flag != 0x80) {
			pid = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);
			if (pid == 0)
				_exit(0);
			if (pid > 0)
				opened_n("clone", (long)flag);
			pid = syscall(SYS_clone, flag | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
			if (pid == 0)
				_exit(0);
			if (pid > 0)
				opened_n("clone with user", (long)flag);
		}
		pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			opened_n("clone3", (long)flag);
		for (int who = 0; who < 2; who++) {
			snprintf(path, sizeof(path), "/proc/%s/ns/%s", who ? "1" : "self",
				 namespaces[i].name);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && syscall(SYS_setns, fd, 0) == 0)
				opened(path);
			if (fd >= 0)
				close(fd);
		}
	}
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	if (pidfd >= 0)
		REFUSED(syscall(SYS_setns, pidfd, CLONE_NEWNS));
}

/* Tries the mount calls, old and new. */
static void attack_mounts(void)
{
	uint64_t attr[4] = { 0, 1 /* clear MOUNT_ATTR_RDONLY */, 0, 0 };

	mkdir("/tmp/m", 0700);
	REFUSED(mount("none", "/tmp/m", "tmpfs", 0, NULL));
	REFUSED(mount("/", "/tmp/m", NULL, MS_BIND | MS_REC, NULL));
	REFUSED(mount("/usr", "/tmp/m", NULL, MS_BIND, NULL));
	REFUSED(mount("proc", "/tmp/m", "proc", 0, NULL));
	REFUSED(mount("sysfs", "/tmp/m", "sysfs", 0, NULL));
	REFUSED(mount("cgroup", "/tmp/m", "cgroup2", 0, NULL));
	REFUSED(mount("cgroup", "/tmp/m", "cgroup", 0, "rdma"));
	REFUSED(mount("cgroup", "/tmp/m", "cgroup", 0, "memory"));
	REFUSED(mount("devpts", "/tmp/m", "devpts", 0, "newinstance"));
	REFUSED(mount("mqueue", "/tmp/m", "mqueue", 0, NULL));
	REFUSED(mount("o", "/tmp/m", "overlay", 0, "lowerdir=/usr,upperdir=/tmp,workdir=/tmp/m"));
	REFUSED(mount("", "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	REFUSED(mount("", "/proc", NULL, MS_REMOUNT | MS_BIND, NULL));
	REFUSED(mount("", "/sys", NULL, MS_REMOUNT | MS_BIND, NULL));
	REFUSED(mount("", "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
	REFUSED(mount("", "/", NULL, MS_SHARED | MS_REC, NULL));
	REFUSED(mount("/usr", "/tmp/m", NULL, MS_MOVE, NULL));
	REFUSED(umount2("/proc", MNT_DETACH));
	REFUSED(umount2("/sys", MNT_DETACH));
	REFUSED(umount2("/dev", MNT_DETACH));
	REFUSED(umount2("/etc/hosts", MNT_DETACH));
	REFUSED(umount2("/", MNT_DETACH));
	REFUSED(syscall(SYS_pivot_root, "/", "/tmp/m"));
	REFUSED(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
	REFUSED(syscall(SYS_open_tree, AT_FDCWD, "/", 1 | 0x8000 /* AT_RECURSIVE */));
	REFUSED(syscall(SYS_fsopen, "tmpfs", 0));
	REFUSED(syscall(SYS_fsopen, "proc", 0));
	REFUSED(syscall(SYS_fsopen, "cgroup2", 0));
	REFUSED(syscall(SYS_fspick, AT_FDCWD, "/proc", 0));
	REFUSED(syscall(SYS_fsmount, 0, 0, 0));
	REFUSED(syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp/m", 0));
	REFUSED(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000, attr, sizeof(attr)));
	REFUSED(syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, attr, sizeof(attr)));
}

/* Calls chroot(), which is allowed because package managers use it. But chroot() must not lead out
 * of the root. */
static void attack_chroot(void)
{
	struct stat before, after;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || stat("/", &before) < 0)
		return;
	mkdir("/tmp/jail", 0700);
	if (chroot("/tmp/jail") < 0)
		return;
	if (fchdir(fd) < 0)
		return;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return;
	if (chroot(".") < 0 || stat("/", &after) < 0)
		return;
	if (before.st_dev != after.st_dev || before.st_ino != after.st_ino)
		opened("chroot and climb: another root directory");
}

static void attack_calls(void)
{
	struct perf_event_attr perf = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(perf) };
	struct {
		uint32_t type, key, value, max;
	} map = { 1, 4, 4, 1 };
	char zeros[256] = { 0 };
	struct timespec ts = { 1, 0 };

	REFUSED(syscall(SYS_init_module, zeros, sizeof(zeros), ""));
	REFUSED(syscall(SYS_finit_module, 0, "", 0));
	REFUSED(syscall(SYS_delete_module, "no_such_module", 0));
	REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0));
	REFUSED(syscall(SYS_bpf, 0, &map, sizeof(map)));
	REFUSED(syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0));
	REFUSED(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
	REFUSED(syscall(SYS_userfaultfd, 0));
	REFUSED(syscall(SYS_io_uring_setup, 8, zeros));
	REFUSED(syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_io_uring_register, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_swapon, "/dev/null", 0));
	REFUSED(syscall(SYS_swapoff, "/dev/null"));
	REFUSED(syscall(SYS_acct, "/tmp/acct"));
	REFUSED(syscall(SYS_acct, NULL));
	REFUSED(syscall(SYS_quotactl, 0x800001, NULL, 0, NULL));
	REFUSED(syscall(SYS_syslog, 3, zeros, sizeof(zeros)));
	REFUSED(syscall(SYS_reboot, 0xfee1dead, 672274793, 0xcdef0123, NULL));
	REFUSED(syscall(SYS_fanotify_init, 0, 0));
	REFUSED(syscall(SYS_open_by_handle_at, AT_FDCWD, zeros, 0));
	REFUSED(syscall(SYS_iopl, 3));
	REFUSED(syscall(SYS_ioperm, 0, 1, 1));
	REFUSED(syscall(SYS_settimeofday, zeros, NULL));
	REFUSED(syscall(SYS_clock_settime, 0, &ts));
	REFUSED(syscall(SYS_sethostname, "pwned", 5));
	REFUSED(syscall(SYS_setdomainname, "pwned", 5));
	REFUSED(syscall(SYS_vhangup));
	REFUSED(syscall(SYS_add_key, "user", "k", "v", 1, KEY_SPEC_SESSION_KEYRING));
	REFUSED(syscall(SYS_request_key, "user", "k", NULL, KEY_SPEC_SESSION_KEYRING));
	REFUSED(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
	REFUSED(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL));
	REFUSED(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
	REFUSED(syscall(SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */));
	REFUSED(syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */));
	REFUSED(syscall(SYS_lookup_dcookie, 0ul, zeros, sizeof(zeros)));
	REFUSED(syscall(SYS_uselib, "/tmp/x"));
	REFUSED(syscall(SYS_ustat, 0, zeros));
	REFUSED(syscall(SYS_nfsservctl, 0, NULL, NULL));
	REFUSED(syscall(SYS_modify_ldt, 0, zeros, sizeof(zeros)));
}

/* These functions make system calls in the two other ways that an x86-64 kernel offers: with x32
 * numbers and through the 32-bit gate. */
static void x32_getpid(void)
{
	if (syscall(0x40000000 | SYS_getpid) >= 0)
		opened("x32 getpid");
}

static void gate_getpid(void)
{
	long pid;

	__asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "memory");
	if (pid > 0)
		opened("int 0x80 getpid");
}

static void gate_mount(void)
{
	long got;

	/* unshare(CLONE_NEWUSER) by its 32-bit number */
	__asm__ volatile("int $0x80" : "=a"(got) : "a"(310), "b"(CLONE_NEWUSER) : "memory");
	if (got == 0)
		opened("int 0x80 unshare");
}

static void attack_abi(void)
{
	in_child(x32_getpid);
	in_child(gate_getpid);
	in_child(gate_mount);
}

/* Tries all socket families except unix, inet, inet6 and netlink, all netlink protocols except
 * route, and the types and protocols of inet and inet6 that must be refused. */
static void attack_sockets(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, 10 };
	static const int protocols[] = { 33 /* DCCP */,     115 /* L2TP */,  132 /* SCTP */,
					 136 /* UDPLITE */, 262 /* MPTCP */, 255 /* RAW */ };
	int pair[2];

	for (int family = 0; family < 64; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		    family == AF_NETLINK)
			continue;
		for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			int fd = (int)syscall(SYS_socket, family, types[t], 0);

			if (fd >= 0)
				opened_n("socket of family", family);
			else if (errno != EAFNOSUPPORT && family < 46)
				opened_n("wrong error for socket of family", family);
			if (syscall(SYS_socket, (1ul << 32) | (unsigned long)family, types[t], 0) >=
			    0)
				opened_n("socket with high bits of family", family);
			if (syscall(SYS_socketpair, family, types[t], 0, pair) >= 0)
				opened_n("socketpair of family", family);
		}
	}
	for (int protocol = 1; protocol < 32; protocol++) {
		if (socket(AF_NETLINK, SOCK_RAW, protocol) >= 0)
			opened_n("netlink", protocol);
		else if (errno != EPROTONOSUPPORT)
			opened_n("wrong error for netlink", protocol);
		if (syscall(SYS_socket, AF_NETLINK, SOCK_DGRAM,
			    (1ul << 32) | (unsigned long)protocol) >= 0)
			opened_n("netlink with high bits", protocol);
	}
	for (int family = AF_INET; family <= AF_INET6; family += AF_INET6 - AF_INET) {
		if (socket(family, SOCK_RAW, 1) >= 0)
			opened_n("raw socket", family);
		if (socket(family, 10 /* SOCK_PACKET */, 0x300) >= 0)
			opened_n("packet socket by type", family);
		for (unsigned i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
			if (socket(family, SOCK_STREAM, protocols[i]) >= 0 ||
			    socket(family, SOCK_DGRAM, protocols[i]) >= 0 ||
			    socket(family, SOCK_SEQPACKET, protocols[i]) >= 0)
				opened_n("inet protocol", protocols[i]);
	}
}

/* Makes sockets that must work, because ordinary programs need them. */
static void attack_sockets_allowed(void)
{
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socket(AF_INET, SOCK_STREAM, 0) < 0 ||
	    socket(AF_INET6, SOCK_DGRAM, 0) < 0 || socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) < 0)
		opened("an ordinary socket is refused");
}

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags);
}

static int read_of(pid_t pid, const char *name)
{
	char data[8];
	int fd = open_of(pid, name, O_RDONLY);

	return fd >= 0 && read(fd, data, 1) > 0 ? 0 : -1;
}

/* Attacks the process PID, which belongs to cordon. */
static void attack_ours(pid_t pid)
{
	char data[8];
	struct iovec local = { data, sizeof(data) }, remote = { (void *)0x400000, sizeof(data) };
	struct rlimit limit = { 1, 1 };
	cpu_set_t cpus;
	int pidfd, fd;

	REFUSED(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	REFUSED(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	REFUSED(process_vm_readv(pid, &local, 1, &remote, 1, 0));
	REFUSED(process_vm_writev(pid, &local, 1, &remote, 1, 0));
	REFUSED(prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	REFUSED(sched_setaffinity(pid, sizeof(cpus), &cpus));
	REFUSED(setpriority(PRIO_PROCESS, pid, 19));
	REFUSED(syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	for (fd = 0; pidfd >= 0 && fd < 32; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			opened_n("pidfd_getfd of a process of ours", fd);
	REFUSED(open_of(pid, "exe", O_RDONLY));
	REFUSED(open_of(pid, "exe", O_WRONLY));
	REFUSED(open_of(pid, "mem", O_RDWR));
	REFUSED(read_of(pid, "environ"));
	REFUSED(read_of(pid, "maps"));
	REFUSED(open_of(pid, "root", O_RDONLY));
	REFUSED(open_of(pid, "cwd", O_RDONLY));
	REFUSED(open_of(pid, "fd", O_RDONLY));
	REFUSED(open_of(pid, "ns/mnt", O_RDONLY));
	REFUSED(open_of(pid, "ns/user", O_RDONLY));
	REFUSED(open_of(pid, "oom_score_adj", O_WRONLY));
	REFUSED(open_of(pid, "uid_map", O_WRONLY));
	fd = open_of(pid, "attr/current", O_WRONLY);
	REFUSED(fd >= 0 && write(fd, "x", 1) == 1 ? 0 : -1);
}

/* Reports a hole if the limit of core dumps is not 1. With any other limit, even with 0, a crash
 * would start the host's crash handler. */
static void core_limit_must_hold(const char *after)
{
	struct rlimit now = { 0, 0 };

	if (getrlimit(RLIMIT_CORE, &now) < 0 || now.rlim_cur != 1 || now.rlim_max != 1)
		opened(after);
}

/* Tries to set the limit of core dumps to 0, by every call that can do so. The limit must stay 1.
 * But most calls must return 0, because programs such as gpg give up if such a call fails. */
static void attack_core(void)
{
	const struct rlimit none = { 0, 0 };
	/* an address whose lower half is 0: a filter that checks only this half takes the address
	 * for NULL */
	struct rlimit *high = mmap((void *)(1ul << 32), 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct rlimit old;

	core_limit_must_hold("limit at the start");
	must_be(setrlimit(RLIMIT_CORE, &none), 0, "setrlimit of libc");
	core_limit_must_hold("setrlimit of libc");
	must_be(syscall(SYS_setrlimit, RLIMIT_CORE, &none), 0, "setrlimit");
	core_limit_must_hold("setrlimit");
	syscall(SYS_setrlimit, (1ul << 32) | RLIMIT_CORE, &none);
	core_limit_must_hold("setrlimit with high bits");
	must_be(prlimit(getpid(), RLIMIT_CORE, &none, NULL), 0, "prlimit");
	core_limit_must_hold("prlimit");
	must_be(prlimit(0, RLIMIT_CORE, &none, &old), EPERM, "prlimit with the old limit");
	core_limit_must_hold("prlimit with the old limit");
	syscall(SYS_prlimit64, 0, (1ul << 32) | RLIMIT_CORE, &none, NULL);
	core_limit_must_hold("prlimit with high bits");
	must_be(high == MAP_FAILED ? -1 : 0, 0, "mmap at 4 GiB");
	must_be(prlimit(0, RLIMIT_CORE, high, NULL), 0, "prlimit with a limit at 4 GiB");
	core_limit_must_hold("prlimit with a limit at 4 GiB");
	REFUSED(syscall(0x40000000 | SYS_setrlimit, RLIMIT_CORE, &none));
	REFUSED(syscall(0x40000000 | SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL));
	core_limit_must_hold("x32 calls");
}

static void attack_pid1(void)
{
	attack_ours(1);
}

/* Calls WHAT with every process named NAME except pid 1. Returns the number of these processes. */
static unsigned for_each_named(const char *name, void (*what)(pid_t pid))
{
	unsigned found = 0;

	for (pid_t pid = 2; pid < 4096; pid++) {
		char text[32] = "";
		int fd = open_of(pid, "comm", O_RDONLY);

		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text) - 1) > 0 && !strcmp(strtok(text, "\n"), name)) {
			found++;
			what(pid);
		}
		close(fd);
	}
	return found;
}

/* Attacks the launcher, the process that starts commands. There must be a launcher. */
static void attack_launcher(void)
{
	if (!for_each_named("cordon-guest", attack_ours))
		opened_n("no launcher to attack", 0);
}

/* attack_launchers_number() needs a launcher whose process number is not below this limit, because
 * another process must get the same number later. The kernel does not use numbers below 300
 * again. */
#define NUMBERS_RESERVED 400

static pid_t launchers_number;

static void kill_launcher(pid_t pid)
{
	kill(pid, SIGKILL);
	launchers_number = pid;
}

static pid_t use_up_a_number(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void attack_numbers(void)
{
	while (use_up_a_number() < NUMBERS_RESERVED)
		;
}

/* Fills the disk. */
static void fill_layer(void)
{
	static char data[1 << 20];
	struct statvfs fs;
	int fd;

	setsid();
	while (getppid() != 1)
		usleep(1000);
	sleep(1);
	fd = open("/root/fill", O_WRONLY | O_CREAT, 0600);
	memset(data, 'x', sizeof(data));
	/* writes fast at first, and then so slowly that the supervisor sees a change each time it
	 * measures the layer */
	while (statvfs("/root", &fs) == 0 && fs.f_bavail * fs.f_frsize > 32 << 20)
		if (write(fd, data, sizeof(data)) < 0)
			_exit(1);
	while (write(fd, data, 1 << 15) > 0)
		usleep(2000);
	sleep(1000);
}

/* Kills a launcher, and makes a process with the launcher's number, which fills the disk. */
static void attack_launchers_number(void)
{
	for_each_named("cordon-guest", kill_launcher);
	if (launchers_number < NUMBERS_RESERVED) {
		opened_n("no launcher to kill", launchers_number);
		return;
	}
	for (pid_t pid = 0; pid != launchers_number;) {
		if (use_up_a_number() != launchers_number - 1)
			continue;
		pid = fork();
		if (pid == 0 && getpid() == launchers_number) {
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			fill_layer();
		}
		if (pid == 0)
			_exit(0);
	}
}

/* Sends every signal to pid 1. The caller checks that pid 1 still answers. */
static void attack_signals(void)
{
	for (int sig = 1; sig <= 64; sig++)
		(void)kill(1, sig);
}

static void attack_kill_all(void)
{
	kill(-1, SIGKILL);
}

/* Stops every new process, mostly before it has executed its program. */
static void attack_stop_all(void)
{
	puts("up");
	fflush(stdout);
	for (;;)
		kill(-1, SIGSTOP);
}

/* Tries to make and open device nodes of the important character and block devices, and to open
 * device files of the host. */
static void attack_devices(void)
{
	static const struct {
		mode_t mode;
		unsigned major, minor;
	} nodes[] = {
		{ S_IFCHR, 1, 1 },                          /* mem */
		{ S_IFCHR, 1, 2 },                          /* kmem */
		{ S_IFCHR, 1, 4 },                          /* port */
		{ S_IFCHR, 1, 11 },                         /* kmsg */
		{ S_IFCHR, 4, 0 },                          /* console */
		{ S_IFCHR, 5, 1 },    { S_IFCHR, 10, 200 }, /* tun */
		{ S_IFCHR, 10, 229 },                       /* fuse */
		{ S_IFCHR, 10, 232 },                       /* kvm */
		{ S_IFCHR, 10, 237 },                       /* loop-control */
		{ S_IFCHR, 1, 3 },                          /* null: even this node is refused */
		{ S_IFBLK, 7, 0 },                          /* loop */
		{ S_IFBLK, 8, 0 },                          /* sd */
		{ S_IFBLK, 254, 0 },                        /* vd */
		{ S_IFBLK, 259, 0 },
	};
	static const char *const places[] = { "/tmp/node", "/dev/node", "/dev/shm/node",
					      "/root/node" };

	for (unsigned p = 0; p < 4; p++)
		for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
			unlink(places[p]);
			/* a node is a hole only if it can be opened */
			if (mknod(places[p], nodes[i].mode | 0666,
				  makedev(nodes[i].major, nodes[i].minor)) < 0)
				continue;
			if (open(places[p], O_RDONLY | O_NONBLOCK) >= 0)
				opened_n(places[p], (long)nodes[i].major * 1000 + nodes[i].minor);
		}
	for (unsigned i = 0; i < 5; i++) {
		static const char *const host[] = { "/dev/mem", "/dev/kmsg", "/dev/kvm",
						    "/dev/fuse", "/dev/net/tun" };

		if (open(host[i], O_RDONLY) >= 0)
			opened(host[i]);
	}
}

/* Returns true if a write to the file succeeds. Writes the value that the file already has. It is
 * not enough to open the file, because some files can be opened but refuse writes. But if no value
 * can be read, returns true if the file can be opened for writing. */
static int takes_writes(const char *path)
{
	char value[256];
	int in = open(path, O_RDONLY | O_NONBLOCK);
	int out = open(path, O_WRONLY | O_NONBLOCK);
	ssize_t n = in >= 0 ? read(in, value, sizeof(value)) : 0;
	int took = out >= 0 && (n <= 0 || write(out, value, (size_t)n) >= 0);

	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return took;
}

/* Checks that nothing below a directory can be written. */
static void walk(const char *path, int depth)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		char child[4096];
		struct stat st;

		if (entry->d_name[0] == '.' && (!entry->d_name[1] || entry->d_name[1] == '.'))
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (lstat(child, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < 12)
			walk(child, depth + 1);
		if (!S_ISREG(st.st_mode))
			continue;
		if (takes_writes(child))
			opened(child);
	}
	closedir(dir);
}

static void attack_proc_writes(void)
{
	static const char *const files[] = {
		"/proc/sysrq-trigger",
		"/proc/mtrr",
		"/proc/timer_list",
		"/proc/irq/default_smp_affinity",
		"/proc/fs/nfsd",
		"/proc/latency_stats",
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe",
		"/proc/sys/vm/panic_on_oom",
		"/proc/sys/fs/binfmt_misc/register",
	};

	walk("/proc/sys", 0);
	walk("/proc/irq", 0);
	walk("/proc/bus", 0);
	walk("/proc/fs", 0);
	walk("/proc/scsi", 0);
	walk("/proc/acpi", 0);
	walk("/sys", 0);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (open(files[i], O_WRONLY) >= 0)
			opened(files[i]);
}

/* Reads files that show the host's kernel memory, keys or log. */
static void attack_proc_reads(void)
{
	static const char *const files[] = {
		"/proc/kcore",       "/proc/kmsg",        "/proc/keys",        "/proc/key-users",
		"/proc/timer_list",  "/proc/sched_debug", "/proc/kpagecount",  "/proc/kpageflags",
		"/proc/kpagecgroup", "/proc/vmallocinfo", "/proc/slabinfo",    "/proc/pagetypeinfo",
		"/proc/iomem",       "/proc/ioports",     "/sys/kernel/debug", "/sys/firmware",
		"/sys/fs/bpf"
	};
	char data[4096];
	FILE *symbols = fopen("/proc/kallsyms", "re");

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY | O_NONBLOCK);

		if (fd < 0)
			continue;
		ssize_t n = read(fd, data, sizeof(data) - 1);
		if (n > 0 && strspn(data, "0123456789abcdef-: \n\t") < 12)
			opened(files[i]);
		close(fd);
	}
	while (symbols && fgets(data, sizeof(data), symbols))
		if (strtoul(data, NULL, 16) != 0) {
			opened("kernel addresses in /proc/kallsyms");
			break;
		}
}

/* Tries to push input into a terminal that another process reads, to set a line discipline, and to
 * open the host's terminals. */
static void attack_terminal(void)
{
	char c = 'x';
	unsigned long requests[] = { TIOCSTI, TIOCLINUX, TIOCSTI | (1ul << 32),
				     TIOCLINUX | (1ul << 32), TIOCSETD | (0ul) };
	int ldisc = 15; /* N_HCI: the kernel loads a module for this line discipline */

	for (int fd = 0; fd < 3; fd++) {
		for (unsigned i = 0; i < 4; i++)
			if (syscall(SYS_ioctl, fd, requests[i], &c) == 0)
				opened_n("terminal ioctl", (long)requests[i]);
		if (syscall(SYS_ioctl, fd, TIOCSETD, &ldisc) == 0)
			opened("line discipline");
	}
	REFUSED(open("/dev/console", O_RDWR | O_NOCTTY));
	REFUSED(open("/dev/tty1", O_RDWR | O_NOCTTY));
}

/* Tries to gain capabilities that root inside may not have. */
static void attack_capabilities(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
		    (cap == 12 || cap == 13 || cap == 16 || cap == 17 || cap == 19 || cap == 21 ||
		     cap == 22 || cap == 24 || cap == 25 || cap == 27 || cap >= 32))
			opened_n("capability in the bounding set", cap);
	REFUSED(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	REFUSED(syscall(SYS_setresuid, 70000, 70000, 70000)); /* an id outside the map */
}

/* Opens files until the limit is reached. */
static void attack_files_exhaust(void)
{
	int n = 0;

	while (open("/dev/null", O_RDONLY) >= 0)
		if (++n > 2000000) {
			opened("unlimited descriptors");
			return;
		}
}

/* Tries to change the page cache of a read-only file: splices the file into a socket whose kernel
 * code changes data in place. The socket families and the XFRM states must be refused. */
static void attack_pagecache(void)
{
	static const int families[] = { 38 /* ALG */, 33 /* RXRPC */, 15 /* KEY */ };
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
	struct {
		struct nlmsghdr head;
		char body[512];
	} ask = { .head = { .nlmsg_len = sizeof(ask),
			    .nlmsg_type = 0x10 /* XFRM_MSG_NEWSA */,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK } };
	int file = open("/usr/bin/true", O_RDONLY);
	int pipefd[2];

	if (file < 0 || pipe(pipefd) < 0)
		return;
	(void)!splice(file, NULL, pipefd[1], NULL, 4096, 0);
	for (unsigned f = 0; f < sizeof(families) / sizeof(families[0]); f++)
		for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			int fd = (int)syscall(SYS_socket, families[f], types[t], 0);

			if (fd < 0)
				continue;
			opened_n("socket family", families[f]);
			(void)!splice(pipefd[0], NULL, fd, NULL, 4096, 0);
		}
	/* 0 is NETLINK_ROUTE, 6 is NETLINK_XFRM */
	for (int protocol = 0; protocol <= 6; protocol += 6) {
		int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
		char answer[512];
		ssize_t n;

		if (fd < 0)
			continue;
		if (protocol == 6)
			opened("XFRM socket");
		n = send(fd, &ask, sizeof(ask), 0) < 0 ? -1 : recv(fd, answer, sizeof(answer), 0);
		/* a reply of type error with the number 0 means success */
		if (n >= (ssize_t)sizeof(struct nlmsghdr) + 4 &&
		    *(int *)(answer + sizeof(struct nlmsghdr)) == 0 &&
		    ((struct nlmsghdr *)answer)->nlmsg_type == NLMSG_ERROR)
			opened_n("netlink request", protocol);
		close(fd);
	}
}

static void hoard(void)
{
	static const int kinds[][2] = { { AF_UNIX, SOCK_STREAM },
					{ AF_INET, SOCK_DGRAM },
					{ AF_INET6, SOCK_STREAM },
					{ AF_NETLINK, SOCK_RAW } };

	for (unsigned i = 0, misses = 0; misses < 4; i = (i + 1) % 4)
		misses = socket(kinds[i][0], kinds[i][1], 0) < 0 ? misses + 1 : 0;
}

/* Opens as many sockets as the limits allow, in many processes, and holds them until it is
 * killed. */
static void attack_hoard_sockets(void)
{
	int full[2];
	char c;

	if (pipe(full) < 0)
		return;
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			hoard();
			(void)!write(full[1], "x", 1);
			pause();
			_exit(0);
		}
	for (int i = 0; i < 4; i++)
		if (read(full[0], &c, 1) != 1)
			return;
	printf("hoarding\n");
	fflush(stdout);
	pause();
}

/* Tries to change /dev and /sys, which all sandboxes of root share. Sandboxes of a user share the
 * device nodes with the host. */
static void attack_fixtures(void)
{
	static const char *const paths[] = { "/dev", "/dev/null",    "/dev/tty",
					     "/sys", "/sys/devices", "/sys/devices/system/cpu" };
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		REFUSED(chmod(paths[i], 0777));
		REFUSED(chown(paths[i], 1, 1));
		REFUSED(utimensat(AT_FDCWD, paths[i], times, 0));
		REFUSED(setxattr(paths[i], "user.note", "x", 1, 0));
		REFUSED(rename(paths[i], "/tmp/moved"));
		REFUSED(link(paths[i], "/tmp/linked"));
	}
	REFUSED(unlink("/dev/null"));
	REFUSED(mkdir("/dev/note", 0777));
	REFUSED(symlink("x", "/sys/note"));
	REFUSED(open("/dev", O_TMPFILE | O_RDWR, 0600));
}

/* Takes all inotify instances and all queued signals that the kernel allows to one user. */
static void take_counted(void)
{
	union sigval none = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (inotify_init1(0) >= 0)
		;
	while (sigqueue(getpid(), SIGRTMIN, none) == 0)
		;
}

static void attack_hoard_counted(void)
{
	take_counted();
	printf("hoarding\n");
	fflush(stdout);
	pause();
}

/* Takes leases on files. If a process of the host opens a file with a lease, this process has to
 * wait for up to 45 seconds. */
static void attack_leases(void)
{
	static const char *const files[] = { "/usr/bin/whoami", "/attack/attacks", "/etc/passwd",
					     "/etc/hosts" };
	static const int kinds[] = { F_RDLCK, F_WRLCK };

	signal(SIGIO, SIG_IGN);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_RDONLY);

		for (unsigned k = 0; fd >= 0 && k < 2; k++) {
			if (fcntl(fd, F_SETLEASE, kinds[k]) == 0)
				opened(files[i]);
			if (syscall(SYS_fcntl, fd, F_SETLEASE | 1ul << 32, kinds[k]) == 0)
				opened(files[i]);
		}
	}
}

/* Reports that everything is set up and waits to be killed. */
static void wait_for_the_end(void)
{
	printf("going\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void *rest_of_it(void *ready)
{
	(void)!write(*(int *)ready, "x", 1);
	for (;;)
		pause();
}

/* Makes a process whose first thread has ended. In /proc/PID such a process looks like a zombie. */
static void attack_headless(void)
{
	static int ready[2];
	pthread_t thread;
	char c;

	if (pipe(ready) < 0)
		return;
	if (fork() == 0) {
		setsid();
		pthread_create(&thread, NULL, rest_of_it, &ready[1]);
		syscall(SYS_exit, 0);
	}
	if (read(ready[0], &c, 1) == 1)
		wait_for_the_end();
}

static void *next_headless(void *none)
{
	pthread_t thread;

	while (fork() != 0) /* only a child leaves the loop; the parent goes on forking */
		;
	setsid();
	pthread_create(&thread, NULL, next_headless, NULL);
	syscall(SYS_exit, 0);
	return none;
}

/* Makes more and more processes whose first thread has ended: each of them makes further ones. */
static void attack_headless_storm(void)
{
	if (fork() == 0)
		next_headless(NULL);
	wait_for_the_end();
}

/* Makes two chains of processes, each of which lives just long enough to make the next process. */
static void attack_fork_chain(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			for (;;)
				if (fork() > 0)
					_exit(0);
	wait_for_the_end();
}

#define HANDS_PATH "/tmp/hands"

union hand {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static void flood(int fd)
{
	static char block[1 << 20];

	fcntl(fd, F_SETPIPE_SZ, sizeof(block));
	while (write(fd, block, sizeof(block)) > 0)
		;
	_exit(0);
}

/* Starts a background process that receives a descriptor from another command and writes to it
 * without end. */
static void attack_take_output(void)
{
	struct sockaddr_un at = { AF_UNIX, HANDS_PATH };
	int fd, sock = socket(AF_UNIX, SOCK_STREAM, 0);
	union hand h;
	char c;
	struct iovec data = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &h, .msg_controllen = sizeof(h)
	};

	if (bind(sock, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(sock, 1) < 0 || fork())
		return;
	for (int i = 0; i < 3; i++)
		close(i);
	sock = accept(sock, NULL, NULL);
	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		_exit(1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			flood(fd);
	flood(fd);
}

static void attack_hand_output(void)
{
	struct sockaddr_un at = { AF_UNIX, HANDS_PATH };
	int fd = 1, waiting = 0, sock = socket(AF_UNIX, SOCK_STREAM, 0);
	union hand h = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec data = { "x", 1 };
	struct msghdr m = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &h, .msg_controllen = sizeof(h)
	};

	memcpy(CMSG_DATA(&h.head), &fd, sizeof(fd));
	if (connect(sock, (struct sockaddr *)&at, sizeof(at)) < 0 || sendmsg(sock, &m, 0) != 1)
		opened("the descriptor cannot be sent");
	while (!n_open && waiting < 65536 && ioctl(1, FIONREAD, &waiting) == 0)
		sched_yield(); /* wait until the other process floods */
}

/* --- pools of the whole machine: each attack_hoard_… takes objects, prints their number, and
 * holds them until it is killed; the other attacks make calls that use such a pool --- */

static _Noreturn void hold(const char *what, long n, int error)
{
	printf("%s %ld %s\n", what, n, error ? strerrorname_np(error) : "-");
	fflush(stdout);
	for (;;)
		pause();
}

static void attack_hoard_terminals(void)
{
	long n = 0;

	while (n < 1024 && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
		n++;
	hold("terminals", n, errno);
}

#define TCP_PAIRS 48

/* Fills one loopback connection that no process reads. Returns the bytes that the kernel took. */
static long fill_connection(int listener, const struct sockaddr_in *at)
{
	static char block[1 << 16];
	int big = 4 << 20, to = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	long sum = 0, n, misses = 0;

	setsockopt(to, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (connect(to, (const struct sockaddr *)at, sizeof(*at)) < 0 && errno != EINPROGRESS)
		return 0;
	if (accept(listener, NULL, NULL) < 0)
		return 0;
	while (misses < 20) {
		n = send(to, block, sizeof(block), MSG_DONTWAIT);
		misses = n > 0 ? 0 : misses + 1;
		sum += n > 0 ? n : 0;
		if (n <= 0)
			/* wait while the kernel moves data from the sender's buffer to the
			 * receiver's */
			usleep(500);
	}
	return sum;
}

static void attack_hoard_tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	long sum = 0;

	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &length) < 0)
		return;
	for (int i = 0; i < TCP_PAIRS; i++)
		sum += fill_connection(listener, &at);
	hold("tcp", sum, 0);
}

static void attack_hoard_udp(void)
{
	static char block[1400];
	long n = 0;

	for (int i = 0; i < 1000; i++) {
		struct sockaddr_in at = { .sin_family = AF_INET,
					  .sin_addr = { htonl(INADDR_LOOPBACK) } };
		socklen_t length = sizeof(at);
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		    getsockname(fd, (struct sockaddr *)&at, &length) < 0)
			break;
		for (int k = 0; k < 90; k++) /* fills the queue of the socket */
			n += sendto(fd, block, sizeof(block), 0, (struct sockaddr *)&at, length) >
			     0;
	}
	hold("udp", n, 0);
}

/* Opens files in 60 processes, because each process may have only 1024 open files. */
static void attack_hoard_files(void)
{
	int ready[2];
	char c;

	if (pipe(ready) < 0)
		return;
	for (int i = 0; i < 60; i++) {
		if (fork() == 0) {
			for (int k = 0; k < 1000; k++)
				open("/dev/null", O_RDONLY);
			(void)!write(ready[1], "x", 1);
			for (;;)
				pause();
		}
		if (read(ready[0], &c, 1) != 1)
			return;
	}
	hold("files", 60 * 1000, 0);
}

static void attack_hoard_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd[300];
	long n = 0;

	for (int i = 0; i < 300; i++)
		fd[i] = eventfd(0, 0);
	for (int i = 0; i < 300; i++) {
		int epoll = epoll_create1(0);

		for (int k = 0; k < 300; k++)
			n += epoll_ctl(epoll, EPOLL_CTL_ADD, fd[k], &event) == 0;
	}
	hold("epoll", n, 0);
}

/* Looks up missing names: the kernel caches these lookups, too. */
static void attack_hoard_names(void)
{
	struct stat st;
	char name[64];

	for (long i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "/tmp/no-such-name-%ld", i);
		stat(name, &st);
	}
	hold("names", 100000, 0);
}

static void attack_hoard_pipes(void)
{
	static char block[65536];
	long n = 0;
	int fd[2];

	for (; n < 400 && pipe(fd) == 0; n++) {
		fcntl(fd[1], F_SETPIPE_SZ, 1 << 20); /* large pipes, until the limit is reached */
		fcntl(fd[1], F_SETFL, O_NONBLOCK);
		(void)!write(fd[1], block, sizeof(block));
	}
	hold("pipes", n, 0);
}

/* Sends to missing neighbours on the sandbox's own link. */
static void attack_hoard_neighbours(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	FILE *list = fopen("/proc/net/if_inet6", "re");
	char line[128], digits[3] = "";
	long n = 0;

	while (list && fgets(line, sizeof(line), list) && !strstr(line, "eth0"))
		;
	for (int i = 0; i < 8; i++) {
		memcpy(digits, line + 2 * i, 2);
		at.sin6_addr.s6_addr[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	for (int i = 16; i < 1000; i++) {
		at.sin6_addr.s6_addr[14] = (uint8_t)(i >> 8);
		at.sin6_addr.s6_addr[15] = (uint8_t)i;
		n += sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof(at)) == 1;
	}
	hold("neighbours", n, 0);
}

/* Starts each process as another user. A limit per user then counts only one process for each
 * user. */
static void attack_hoard_processes(void)
{
	long n = 0;

	while (n < 200) {
		pid_t pid = fork();

		if (pid < 0)
			hold("processes", n, errno);
		if (pid == 0) {
			if (setresuid((uid_t)n + 1, (uid_t)n + 1, (uid_t)n + 1) < 0)
				_exit(1);
			for (;;)
				pause();
		}
		n++;
	}
	hold("processes", n, 0);
}

/* Reports CALL if it succeeds or fails with another error than ERROR. Ordinary programs expect
 * ERROR and then work without the refused feature; after another error they may give up. */
#define FAILS_WITH(error, call)                                 \
	do {                                                    \
		errno = 0;                                      \
		if ((long)(call) >= 0 || errno != (error)) {    \
			printf("%s\n", strerrorname_np(errno)); \
			opened(#call);                          \
		}                                               \
	} while (0)

#define PR_SET_SECCOMP_FILTER 22, 2 /* prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, …) */

static struct sock_filter return_all[] = { { 0x06, 0, 0, 0x7fff0000 } };

/* Attaches BPF programs to sockets. The kernel compiles each program into memory that the whole
 * machine shares. */
static void attach_programs(void)
{
	struct sock_fprog program = { 1, return_all };
	static const int kinds[][2] = { { AF_UNIX, SOCK_DGRAM },
					{ AF_INET, SOCK_STREAM },
					{ AF_INET6, SOCK_DGRAM },
					{ AF_NETLINK, SOCK_RAW } };
	int none = -1, one = 1;

	for (unsigned i = 0; i < 4; i++) {
		int fd = socket(kinds[i][0], kinds[i][1], 0);

		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		FAILS_WITH(EPERM,
			   setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
		FAILS_WITH(EPERM, setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program,
					     sizeof(program)));
		FAILS_WITH(EPERM, setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &none, sizeof(none)));
		FAILS_WITH(EPERM, setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &none,
					     sizeof(none)));
		FAILS_WITH(EPERM, syscall(SYS_setsockopt, fd, SOL_SOCKET | 1ul << 32,
					  SO_ATTACH_FILTER | 1ul << 40, &program, sizeof(program)));
		close(fd);
	}
}

/* Tries to install BPF programs and system call filters, by every call that can do so, and asks
 * whether the kernel supports filters. All calls must fail. */
static void attack_filters(void)
{
	struct sock_fprog program = { 1, return_all };

	attach_programs();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	FAILS_WITH(EINVAL, syscall(SYS_seccomp, 1, 0, &program));
	/* with NULL, programs ask whether the kernel supports filters: EFAULT would mean yes */
	FAILS_WITH(EINVAL, syscall(SYS_seccomp, 1, 0, NULL));
	FAILS_WITH(EINVAL, syscall(SYS_seccomp, 1 | 1ul << 32, 0, &program));
	/* a filter with a listener */
	FAILS_WITH(EINVAL, syscall(SYS_seccomp, 1, 1 << 3, &program));
	FAILS_WITH(EINVAL, prctl(PR_SET_SECCOMP_FILTER, &program));
	FAILS_WITH(EINVAL, prctl(PR_SET_SECCOMP_FILTER, NULL));
	FAILS_WITH(EINVAL, syscall(SYS_prctl, 22 | 1ul << 32, 2, &program, 0, 0));
}

/* Runs in a sandbox with --seccomp-filters. System call filters must work there, but BPF programs
 * on sockets must still be refused. */
static void attack_filters_allowed(void)
{
	struct sock_fprog program = { 1, return_all };

	attach_programs();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, 1, 0, &program) < 0 || prctl(PR_SET_SECCOMP_FILTER, &program) < 0)
		opened("no filter can be installed");
	attach_programs();
}

/* Calls poll and select with large tables, and leases flow labels: both use memory or numbers of
 * the whole machine. */
static void attack_waiting(void)
{
	struct pollfd *set = calloc(8192, sizeof(*set));
	struct timespec none = { 0 };
	char sets[3][1024] = { { 0 } };
	char label[32] = { [15] = 1, [20] = 0, [23] = 1 }; /* asks for a new flow label for ::1 */
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	FAILS_WITH(EINVAL, syscall(SYS_poll, set, 4096, 0));
	FAILS_WITH(EINVAL, syscall(SYS_poll, set, 4096 | 1ul << 32, 0));
	FAILS_WITH(EINVAL, syscall(SYS_ppoll, set, 8192, &none, NULL, 0));
	FAILS_WITH(EINVAL,
		   syscall(SYS_select, 4096, sets[0], sets[1], sets[2], &(struct timeval){ 0 }));
	FAILS_WITH(EINVAL, syscall(SYS_pselect6, 8192, sets[0], sets[1], sets[2], &none, NULL));
	if (syscall(SYS_poll, set, 1000, 0) < 0 ||
	    syscall(SYS_select, 1024, sets[0], NULL, NULL, &(struct timeval){ 0 }) < 0)
		opened("small poll and select calls are refused");
	if (fd >= 0)
		FAILS_WITH(ENOBUFS, setsockopt(fd, IPPROTO_IPV6, 32, label, sizeof(label)));
	close(fd);
	free(set);
}

/* Takes huge pages that the host has reserved for another program. */
static void attack_huge_pages(void)
{
	size_t size = 2 << 20;
	int fd = memfd_create("x", MFD_HUGETLB), id = shmget(IPC_PRIVATE, size, SHM_HUGETLB | 0600);

	if (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
		 0) != MAP_FAILED)
		opened("mmap");
	if (fd >= 0 && mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		opened("memfd_create");
	if (id >= 0)
		opened("shmget");
}

/* how many watches one inotify instance takes; with 128 instances, all watches together reach the
 * usual limit of a user */
#define WATCHED_FILES 1600

static void watched_name(int i, char out[64])
{
	snprintf(out, 64, "/tmp/watched-%d", i);
}

static void take_watches(int instance)
{
	char name[64];

	for (int i = 0; i < WATCHED_FILES; i++) {
		watched_name(i, name);
		if (inotify_add_watch(instance, name, IN_MODIFY) < 0)
			break;
	}
}

/* Takes as USER the objects that the kernel counts per user. attack_hoard_per_user() does this for
 * several users of the sandbox. */
static void take_counted_as(uid_t user, int ready)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 1024 };
	char name[64];
	int fd, n = 0;

	if (setresuid(user, user, user) < 0 && user != 0)
		_exit(write(ready, "x", 1) != 1); /* the sandbox has only one id */
	while ((fd = inotify_init1(0)) >= 0)
		take_watches(fd);
	do
		snprintf(name, sizeof(name), "/%d-%d", (int)user, n++);
	while (mq_open(name, O_CREAT | O_RDWR, 0600, &attr) >= 0);
	while ((fd = shmget(IPC_PRIVATE, 1 << 18, 0600)) >= 0 && shmctl(fd, SHM_LOCK, NULL) == 0)
		;
	take_counted();
	(void)!write(ready, "x", 1);
	for (;;)
		pause();
}

static void attack_hoard_per_user(void)
{
	int ready[2];
	long n = 0;
	char c;

	umask(0);
	if (pipe(ready) < 0)
		return;
	for (int i = 0; i < WATCHED_FILES; i++) {
		char name[64];

		watched_name(i, name);
		close(open(name, O_CREAT | O_RDWR, 0666));
	}
	/* start the processes one after the other, because each process takes everything that is
	 * left */
	for (; n < 3; n++) {
		if (fork() == 0)
			take_counted_as((uid_t)n, ready[1]);
		if (read(ready[0], &c, 1) != 1)
			return;
	}
	hold("users", n, 0);
}

/* Sends descriptors that no process receives. */
static void attack_hoard_in_flight(void)
{
	struct rlimit l;
	long n = 0;
	int pair[2];

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	while (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		while (n < 1 << 17) {
			char room[CMSG_SPACE(250 * sizeof(int))] = { 0 };
			struct iovec data = { "x", 1 };
			struct msghdr m = { .msg_iov = &data,
					    .msg_iovlen = 1,
					    .msg_control = room,
					    .msg_controllen = sizeof(room) };
			struct cmsghdr *c = CMSG_FIRSTHDR(&m);

			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(250 * sizeof(int));
			for (int i = 0; i < 250; i++)
				((int *)CMSG_DATA(c))[i] = pair[0];
			if (sendmsg(pair[0], &m, MSG_DONTWAIT) < 0)
				break;
			n += 250;
		}
		if (errno == ETOOMANYREFS || n >= 1 << 17)
			break;
	}
	hold("descriptors", n, errno);
}

/* --- the deputy ------------------------------------------------------------------------------ */

static void kill_it(pid_t pid)
{
	for (int sig = 1; sig <= 64; sig++)
		(void)kill(pid, sig);
}

/* Attacks the deputy. The caller then checks that the deputy still works. */
static void attack_deputy(void)
{
	if (for_each_named("cordon-deputy", attack_ours) != 1 ||
	    for_each_named("cordon-deputy", kill_it) != 1)
		opened("there is not exactly one deputy");
}

static char state_of(pid_t pid)
{
	char text[128] = "";
	int fd = open_of(pid, "stat", O_RDONLY);
	const char *end;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

/* Starts a process that ends at once, and returns its number, which is the newest number. */
static pid_t newest(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* Makes more calls at a time than the deputy has tasks, and stops some tasks. Each call must end. A
 * call that the deputy did not make must fail. */
static void attack_deputy_flood(void)
{
	enum { CALLERS = 24, STOPPED = 4, NEAR = 64 };
	volatile int *enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t last = 0;
	int status;

	mkdir("/r", 0755);
	make_file("/r/a");
	for (unsigned i = 0; i < CALLERS; i++) {
		last = fork();
		if (last)
			continue;
		while (!*enough)
			if (chmod("/r/a", 04755) < 0 && errno != EIO)
				_exit(1);
		_exit(0);
	}
	for (unsigned stopped = 0; stopped < STOPPED;) {
		pid_t pid = newest();

		/* a process with a higher number than the callers is a task of the deputy */
		for (unsigned i = 0; i < NEAR && --pid > last; i++)
			stopped += kill(pid, SIGSTOP) == 0 && state_of(pid) == 'T';
	}
	*enough = 1;
	while (waitpid(-1, &status, 0) > 0)
		if (status)
			opened_n("a call failed otherwise", status);
	must_be(chmod("/r/a", 06755), 0, "chmod after a flood");
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
	{ "namespaces", attack_namespaces },
	{ "mounts", attack_mounts },
	{ "chroot", attack_chroot },
	{ "calls", attack_calls },
	{ "abi", attack_abi },
	{ "sockets", attack_sockets },
	{ "sockets-allowed", attack_sockets_allowed },
	{ "core", attack_core },
	{ "pid1", attack_pid1 },
	{ "launcher", attack_launcher },
	{ "numbers", attack_numbers },
	{ "launchers-number", attack_launchers_number },
	{ "signals", attack_signals },
	{ "kill-all", attack_kill_all },
	{ "stop-all", attack_stop_all },
	{ "devices", attack_devices },
	{ "proc-writes", attack_proc_writes },
	{ "proc-reads", attack_proc_reads },
	{ "terminal", attack_terminal },
	{ "capabilities", attack_capabilities },
	{ "files-exhaust", attack_files_exhaust },
	{ "pagecache", attack_pagecache },
	{ "hoard-sockets", attack_hoard_sockets },
	{ "fixtures", attack_fixtures },
	{ "hoard-counted", attack_hoard_counted },
	{ "leases", attack_leases },
	{ "headless", attack_headless },
	{ "headless-storm", attack_headless_storm },
	{ "fork-chain", attack_fork_chain },
	{ "take-output", attack_take_output },
	{ "hand-output", attack_hand_output },
	{ "hoard-terminals", attack_hoard_terminals },
	{ "hoard-tcp", attack_hoard_tcp },
	{ "hoard-udp", attack_hoard_udp },
	{ "hoard-files", attack_hoard_files },
	{ "hoard-epoll", attack_hoard_epoll },
	{ "hoard-names", attack_hoard_names },
	{ "hoard-pipes", attack_hoard_pipes },
	{ "hoard-neighbours", attack_hoard_neighbours },
	{ "hoard-processes", attack_hoard_processes },
	{ "filters", attack_filters },
	{ "filters-allowed", attack_filters_allowed },
	{ "waiting", attack_waiting },
	{ "huge-pages", attack_huge_pages },
	{ "hoard-per-user", attack_hoard_per_user },
	{ "hoard-in-flight", attack_hoard_in_flight },
	{ "privileges", attack_privileges },
	{ "privileges-allowed", attack_privileges_allowed },
	{ "lend", attack_lend },
	{ "borrow", attack_borrow },
	{ "deputy", attack_deputy },
	{ "deputy-flood", attack_deputy_flood },
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(argv[1], attacks[i].name)) {
			attacks[i].run();
			fflush(stdout);
			printf("done %s\n", argv[1]);
			return n_open ? 1 : 0;
		}
	fprintf(stderr, "no such attack\n");
	return 2;
}
