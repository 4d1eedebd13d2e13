/*
 * Usage: hijack PID FILE [calls|mode]. Shows what a payload could reach if the payload controlled
 * our process PID.
 *
 * The program stops the process and makes it do system calls, so that the confinement of the
 * process applies. The program begins at the working directory of the process and at each directory
 * that the process has open. From there the process follows `..` as far as possible. Then it tries
 * to open the directory at the top, to list it, to read `etc/passwd` in it, and to change the mode
 * of the host's FILE. The program prints one line for each directory:
 *
 *   FD PATH top=SAME|other|errno list=yes|errno read=SAME|other|errno mode=yes|errno
 *
 * FD is the number of the descriptor, or `cwd` for the working directory.
 * `SAME` means the host's file or directory, which this program itself sees at the same path.
 * `other` is any other file or directory, and `unknown` means that the two could not be compared.
 * The last word of the output is `ended` if a system call killed the process. Otherwise the process
 * continues unchanged. The status is 3 if this program may not trace the process.
 *
 * With the argument `calls`, the program prints one line instead. The line has CALL=yes|errno for
 * system calls that a reader of files does not need. A call that no filter refuses either succeeds,
 * or fails because of its arguments. In the second case its errno differs from the filter's.
 *
 * With the argument `mode`, the process opens FILE for reading and calls fchmod() with the mode
 * that FILE already has, which changes nothing. The program prints open=yes|errno and
 * fchmod=yes|errno.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEVELS 48 /* how many `..` we follow; no path of ours is as deep */
#define RED_ZONE 128

struct victim {
	pid_t pid;
	int mem;
	struct user_regs_struct saved;
	unsigned long syscall_at; /* address of a syscall instruction */
	unsigned long text_at;    /* a place for paths, below the stack of the process */
};

static _Noreturn void fail(const char *what)
{
	int error = errno;

	perror(what);
	exit(error == EPERM || error == EACCES ? 3 : 2);
}

static void await_stop(const struct victim *v)
{
	int status;

	if (waitpid(v->pid, &status, __WALL) != v->pid || !WIFSTOPPED(status)) {
		printf("ended\n"); /* a filter killed the process, so the call was refused */
		exit(0);
	}
}

static void find_syscall(struct victim *v)
{
	char path[64], line[512], perms[8];
	unsigned long from, to;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)v->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned char code[65536];
		ssize_t n;

		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3 || perms[2] != 'x' ||
		    strstr(line, "[v"))
			continue;
		for (unsigned long at = from; at < to; at += sizeof(code) - 1) {
			n = pread(v->mem, code, sizeof(code), (off_t)at);
			for (ssize_t i = 0; i + 1 < n; i++)
				if (code[i] == 0x0f && code[i + 1] == 0x05) {
					v->syscall_at = at + (unsigned long)i;
					fclose(maps);
					return;
				}
		}
	}
	fprintf(stderr, "no syscall instruction found\n");
	exit(2);
}

static long call(const struct victim *v, long number, long a, long b, long c, long d)
{
	struct user_regs_struct r = v->saved;

	/* so that the kernel does not restart the system call that we interrupted */
	r.orig_rax = (unsigned long)-1;
	r.rax = (unsigned long)number;
	r.rdi = (unsigned long)a;
	r.rsi = (unsigned long)b;
	r.rdx = (unsigned long)c;
	r.r10 = (unsigned long)d;
	r.rip = v->syscall_at;
	r.rsp = v->text_at & ~15ul;
	if (ptrace(PTRACE_SETREGS, v->pid, NULL, &r) < 0 ||
	    ptrace(PTRACE_SINGLESTEP, v->pid, NULL, NULL) < 0)
		fail("step");
	await_stop(v);
	if (ptrace(PTRACE_GETREGS, v->pid, NULL, &r) < 0)
		fail("read registers");
	return (long)r.rax;
}

/* Writes a path of many `..` and NAME into the memory of the process. Returns the address of this
 * path. */
static long way_to(const struct victim *v, const char *name)
{
	char path[LEVELS * 3 + 512] = "";

	for (int i = 0; i < LEVELS; i++)
		strcat(path, "../");
	strncat(path, name, 500);
	if (pwrite(v->mem, path, strlen(path) + 1, (off_t)v->text_at) < 0)
		fail("write path");
	return (long)v->text_at;
}

static long open_up(const struct victim *v, int fd, const char *name, int flags)
{
	return call(v, SYS_openat, fd, way_to(v, name), flags | O_CLOEXEC, 0);
}

/* Compares the file that the process opened as FD with the file at the path HOSTS, and closes FD in
 * the process. Returns the word to print. If FD is negative, it is -errno. */
static const char *judge(const struct victim *v, long fd, const char *hosts)
{
	struct stat own, theirs;
	char path[64];
	int r;

	if (fd < 0)
		return strerrorname_np((int)-fd);
	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)v->pid, fd);
	r = stat(path, &theirs);
	(void)call(v, SYS_close, fd, 0, 0, 0);
	if (r < 0 || stat(hosts, &own) < 0)
		return "unknown";
	return own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino ? "SAME" : "other";
}

static void climb(const struct victim *v, int fd, const char *name, const char *file_of_host)
{
	char link[64], path[4096];
	ssize_t n;
	long top, list, file, mode;

	snprintf(link, sizeof(link), "/proc/%d/%s%s", (int)v->pid, fd == AT_FDCWD ? "" : "fd/",
		 name);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	printf("%s %s top=", name, path);
	top = open_up(v, fd, "", O_PATH | O_DIRECTORY);
	printf("%s list=", judge(v, top, "/"));
	list = open_up(v, fd, "", O_RDONLY | O_DIRECTORY);
	printf("%s read=", list < 0 ? strerrorname_np((int)-list) : "yes");
	if (list >= 0)
		(void)call(v, SYS_close, list, 0, 0, 0);
	file = open_up(v, fd, "etc/passwd", O_RDONLY);
	printf("%s mode=", judge(v, file, "/etc/passwd"));
	mode = call(v, SYS_fchmodat, fd, way_to(v, file_of_host), 0666, 0);
	printf("%s\n", mode < 0 ? strerrorname_np((int)-mode) : "yes");
}

/* If an ordinary user runs this program, enters the user namespace of the process PID. There this
 * program has the capabilities that it needs to trace the process. */
static void enter_namespace(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = geteuid() == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	/* EINVAL means that we are in this namespace already */
	if (fd >= 0 && setns(fd, CLONE_NEWUSER) < 0 && errno != EINVAL)
		fail("enter its user namespace");
}

static void try_calls(const struct victim *v)
{
	long path = way_to(v, "tmp/cordon-hijacked");
	// clang-format off
	const struct { const char *name; long number, a, b, c; } calls[] = {
		{ "socket_inet", SYS_socket, 2, 1, 0 },
		{ "socket_unix", SYS_socket, 1, 1, 0 },
		{ "socket_netlink", SYS_socket, 16, 3, 0 },
		{ "fork", SYS_fork, 0, 0, 0 },
		{ "execve", SYS_execve, path, 0, 0 },
		{ "ptrace", SYS_ptrace, PTRACE_ATTACH, 1, 0 },
		{ "kill", SYS_kill, 1, 0, 0 },
		{ "open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, path, 0 },
		{ "unlinkat", SYS_unlinkat, AT_FDCWD, path, 0 },
		{ "mkdirat", SYS_mkdirat, AT_FDCWD, path, 0700 },
		{ "renameat2", SYS_renameat2, AT_FDCWD, path, AT_FDCWD },
		{ "mount", SYS_mount, path, path, path },
		{ "unshare", SYS_unshare, CLONE_NEWUSER, 0, 0 },
		{ "bpf", SYS_bpf, 0, 0, 0 },
		{ "io_uring_setup", SYS_io_uring_setup, 1, 0, 0 },
		{ "create", SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC },
	};
	// clang-format on

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		long r = call(v, calls[i].number, calls[i].a, calls[i].b, calls[i].c, 0600);

		printf("%s%s=%s", i ? " " : "", calls[i].name,
		       r < 0 ? strerrorname_np((int)-r) : "yes");
	}
	printf("\n");
}

static void try_mode(const struct victim *v, const char *file)
{
	struct stat st;
	long fd, r;

	if (stat(file, &st) < 0)
		fail(file);
	fd = open_up(v, AT_FDCWD, file + 1, O_RDONLY);
	printf("open=%s ", fd < 0 ? strerrorname_np((int)-fd) : "yes");
	r = call(v, SYS_fchmod, fd, (long)(st.st_mode & 07777), 0, 0);
	printf("fchmod=%s\n", r < 0 ? strerrorname_np((int)-r) : "yes");
	if (fd >= 0)
		(void)call(v, SYS_close, fd, 0, 0, 0);
}

int main(int argc, char **argv)
{
	struct victim v = { .pid = argc > 1 ? atoi(argv[1]) : 0 };
	int fds[1024], n_fds = 0;
	struct dirent *d;
	char path[64];
	DIR *list;

	bool calls = argc == 4 && strcmp(argv[3], "calls") == 0;

	if (argc != 3 && !calls && (argc != 4 || strcmp(argv[3], "mode") != 0))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	enter_namespace(v.pid);
	if (ptrace(PTRACE_SEIZE, v.pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, v.pid, NULL, NULL) < 0)
		fail("trace");
	await_stop(&v);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)v.pid);
	v.mem = open(path, O_RDWR | O_CLOEXEC);
	if (v.mem < 0 || ptrace(PTRACE_GETREGS, v.pid, NULL, &v.saved) < 0)
		fail("open its memory or read its registers");
	find_syscall(&v);
	v.text_at = v.saved.rsp - RED_ZONE - 4096;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)v.pid);
	list = opendir(path);
	if (!list)
		fail(path);
	while ((d = readdir(list)) && n_fds < 1024) {
		char entry[320];
		struct stat st;

		snprintf(entry, sizeof(entry), "%s/%s", path, d->d_name);
		if (d->d_name[0] != '.' && stat(entry, &st) == 0 && S_ISDIR(st.st_mode))
			fds[n_fds++] = atoi(d->d_name);
	}
	closedir(list);
	if (calls)
		try_calls(&v);
	else if (argc == 4)
		try_mode(&v, argv[2]);
	else
		climb(&v, AT_FDCWD, "cwd", argv[2]);
	for (int i = 0; argc == 3 && i < n_fds; i++) {
		snprintf(path, sizeof(path), "%d", fds[i]);
		climb(&v, fds[i], path, argv[2]);
	}
	if (ptrace(PTRACE_SETREGS, v.pid, NULL, &v.saved) < 0 ||
	    ptrace(PTRACE_DETACH, v.pid, NULL, NULL) < 0)
		fail("restore its registers or detach");
	return 0;
}
