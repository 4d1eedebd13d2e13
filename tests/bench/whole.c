/*
 * Measures the kernel's part of a run. It does what floor.c does, and more: four programs that
 * execute one another (front end, supervisor, pid 1, command), a record and a writable layer on
 * disk, limits in control groups if they can be made, /dev, the payload's own user namespace, and
 * filters. As in a real run, some work is done at the same time: the record is made while the
 * supervisor starts, and if root runs this program, the network namespace is made beside the other
 * work. There are no checks and no options, and no later command can connect.
 *
 * usage: whole DIR PROGRAM UID GID   DIR is on the file system of the sandboxes; UID and GID are
 *                                    the first of the caller's subordinate ids; if they are 0, one
 *                                    id is mapped
 *        whole DIR - UID GID         make everything but the command, and stay until the input
 *                                    ends, to measure the memory of an idle sandbox
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/io.h"
#include "base/raw.h"

#define PATH_BYTES 512
#define CONFIG_BYTES 2048
#define TOLD_FD 9  /* the supervisor's end of the pipe on which it reports the status */
#define MADE_FD 10 /* the supervisor's end of the pipe on which it learns that the record is made */
#define STACK_BYTES 8192
#define NO_PROGRAM "-"
#define CAPABILITIES 41 /* number of capabilities; one call drops each of them */

static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const char *const groups[] = { "memory", "pids", "cpu" };

static _Noreturn void die(const char *what)
{
	perror(what);
	_exit(125);
}

static void must(long r, const char *what)
{
	if (r < 0)
		die(what);
}

/* --- the front end: a record, a supervisor --------------------------------------------------- */

static _Noreturn void become_supervisor(const char *record, char **argv)
{
	execl("/proc/self/exe", "whole", "--supervisor", record, argv[2], argv[3], argv[4], NULL);
	_exit(125);
}

static void make_record(const char *record, int made)
{
	char path[PATH_BYTES + 16], config[CONFIG_BYTES] = { 0 };
	int fd;

	must(mkdir(record, 0700), record);
	snprintf(path, sizeof(path), "%s/config.json", record);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	must(fd, path);
	must(io_write_all(fd, config, sizeof(config)), path);
	close(fd);
	must(write(made, "m", 1), "tell");
}

static int front(const char *dir, char **argv)
{
	/* without a program, the front end itself becomes the supervisor */
	bool idle = strcmp(argv[2], NO_PROGRAM) == 0;
	char record[PATH_BYTES], status;
	int told[2], made[2];

	snprintf(record, sizeof(record), "%s/%d", dir, (int)getpid());
	must(pipe2(told, O_CLOEXEC), "pipe");
	must(pipe2(made, O_CLOEXEC), "pipe");
	if (idle)
		make_record(record, made[1]);
	if (idle || vfork() == 0) {
		must(dup2(told[1], TOLD_FD), "dup2");
		must(dup2(made[0], MADE_FD), "dup2");
		become_supervisor(record, argv);
	}
	make_record(record, made[1]);
	close(told[1]);
	must(read(told[0], &status, 1), "status");
	return status;
}

/* --- the supervisor: limits, namespaces, the end --------------------------------------------- */

static void write_map(const char *file, unsigned inside, unsigned outside)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1", inside, outside);
	must(io_write_file(AT_FDCWD, file, line), file);
}

static void become_root(uid_t uid, gid_t gid)
{
	must(io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny"), "setgroups");
	write_map("/proc/self/uid_map", 0, uid);
	write_map("/proc/self/gid_map", 0, gid);
}

static pid_t map_range(const char *program, pid_t pid, unsigned own, const char *first)
{
	char target[16], self[16];
	pid_t helper;

	snprintf(target, sizeof(target), "%d", (int)pid);
	snprintf(self, sizeof(self), "%u", own);
	helper = vfork();
	if (helper == 0) {
		execl(program, program, target, "0", self, "1", "1", first, "65535", NULL);
		_exit(125);
	}
	return helper;
}

/* Maps both ranges in parallel, by newuidmap and newgidmap. */
static void map_ranges(pid_t pid, uid_t uid, gid_t gid, const char *subuid, const char *subgid)
{
	int status[2];
	pid_t helper[] = { map_range("/usr/bin/newuidmap", pid, uid, subuid),
			   map_range("/usr/bin/newgidmap", pid, gid, subgid) };

	for (int i = 0; i < 2; i++)
		if (waitpid(helper[i], &status[i], 0) < 0 || status[i] != 0)
			die("map ids");
}

static void mount_at(const char *type, const char *at, const char *options)
{
	must(mount(type, at, type, MS_NOSUID | MS_NOEXEC, options), at);
}

static void build_root(const char *record)
{
	char options[4 * PATH_BYTES], path[64];
	int usr = sys_open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), node[6];

	must(usr, "/usr");
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		node[i] = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		must(node[i], path);
	}
	snprintf(options, sizeof(options),
		 "lowerdir=%s/../lower,upperdir=%s/upper,workdir=%s/work,userxattr", record, record,
		 record);
	mount_at("overlay", "/tmp", options);
	must(chdir("/tmp"), "/tmp");
	must(sys_move_mount(usr, "", AT_FDCWD, "usr", MOVE_MOUNT_F_EMPTY_PATH), "usr");
	mount_at("proc", "proc", NULL);
	mount_at("tmpfs", "dev", "mode=755");
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "dev/%s", nodes[i]);
		must(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), path);
		must(sys_move_mount(node[i], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), path);
	}
	must(mkdir("dev/pts", 0755), "pts");
	must(mkdir("dev/shm", 0755), "shm");
	mount_at("devpts", "dev/pts", "newinstance,ptmxmode=0666");
	mount_at("tmpfs", "dev/shm", NULL);
	mount_at("tmpfs", "sys", NULL);
	must(sys_pivot_root(".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "old root");
	must(chdir("/"), "/");
}

static void group_path(char out[PATH_BYTES], const char *record, unsigned i, const char *file)
{
	snprintf(out, PATH_BYTES, "/sys/fs/cgroup/%s/whole-%s%s", groups[i],
		 strrchr(record, '/') + 1, file);
}

static void make_groups(const char *record)
{
	char path[PATH_BYTES];

	for (unsigned i = 0; i < 3; i++) {
		group_path(path, record, i, "");
		/* this fails if the user has no permission, or if the host has another hierarchy of
		 * control groups */
		if (mkdir(path, 0755) < 0)
			continue;
		group_path(path, record, i,
			   i == 0   ? "/memory.limit_in_bytes"
			   : i == 1 ? "/pids.max"
				    : "/cpu.shares");
		must(io_write_file(AT_FDCWD, path, i == 0 ? "1073741824" : "1024"), path);
	}
}

/* Writes to `tasks`, which moves only this thread. Moving a process would take a lock of the whole
 * machine. */
static void enter_groups(const char *record)
{
	char path[PATH_BYTES];

	for (unsigned i = 0; i < 3; i++) {
		group_path(path, record, i, "/tasks");
		IGNORE(io_write_file(AT_FDCWD, path, "0")); /* the group may be missing */
	}
}

static void clean(const char *record)
{
	static const char *const names[] = {
		"config.json", "sock", "upper", "work/work", "work", ""
	};
	char path[PATH_BYTES];

	for (unsigned i = 0; i < 3; i++) {
		group_path(path, record, i, "");
		rmdir(path);
	}
	for (unsigned i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s", record, names[i]);
		if (unlink(path) < 0)
			rmdir(path);
	}
}

/* Makes the network namespace, which takes the kernel longest. Runs beside the other work, in a
 * task that shares our memory and descriptors. */
static void make_network(void *arg)
{
	RAW1(SYS_unshare, CLONE_NEWNET);
	*(int *)arg = (int)RAW4(SYS_openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0);
	raw_exit(0);
}

static pid_t begin_network(int *ret_fd)
{
	static _Alignas(16) char stack[STACK_BYTES];
	struct clone_args args = { .flags = CLONE_VM | CLONE_FILES,
				   .exit_signal = SIGCHLD,
				   .stack = (uintptr_t)stack,
				   .stack_size = sizeof(stack) };

	return (pid_t)raw_clone_on_stack(&args, make_network, ret_fd);
}

static pid_t clone_in_network(struct clone_args *args, pid_t maker, const int *network)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	must(waitpid(maker, NULL, 0), "wait for the network");
	must(setns(*network, CLONE_NEWNET), "setns");
	args->flags &= ~(uint64_t)CLONE_NEWNET;
	pid = sys_clone3(args);
	if (pid != 0)
		must(setns(home, CLONE_NEWNET), "setns");
	return pid;
}

static int supervise(const char *record, const char *program, const char *subuid,
		     const char *subgid)
{
	bool one_id = strcmp(subuid, "0") == 0, idle = strcmp(program, NO_PROGRAM) == 0;
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
					    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
					    CLONE_NEWNET,
				   .exit_signal = SIGCHLD };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status = 0;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), go[2], network = -1;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char path[PATH_BYTES], c;
	pid_t pid, maker = uid == 0 ? begin_network(&network) : -1;

	setsid();
	must(read(MADE_FD, &c, 1), "wait for the record");
	snprintf(path, sizeof(path), "%s/upper", record);
	must(mkdir(path, 0755), path);
	snprintf(path, sizeof(path), "%s/work", record);
	must(mkdir(path, 0755), path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%.100s/sock", record);
	must(bind(listener, (struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(listener, 16), "listen");
	make_groups(record);
	must(pipe2(go, O_CLOEXEC), "pipe");
	pid = maker > 0 ? clone_in_network(&args, maker, &network) : sys_clone3(&args);
	must(pid, "clone3");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		must(read(go[0], &c, 1), "wait for ids");
		if (one_id)
			become_root(uid, gid);
		enter_groups(record);
		build_root(record);
		syscall(SYS_execveat, self, "",
			(const char *const[]){ "whole", "--init", program, NULL },
			(const char *const[]){ NULL }, AT_EMPTY_PATH);
		die("execveat");
	}
	if (!one_id)
		map_ranges(pid, uid, gid, subuid, subgid);
	must(write(go[1], "g", 1), "go");
	while (idle && read(STDIN_FILENO, &c, 1) > 0)
		;
	if (idle)
		kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0), "wait");
	c = (char)WEXITSTATUS(status);
	/* nobody reads the status of an idle run: the write would fail and end us before clean() */
	if (!idle)
		must(write(TOLD_FD, &c, 1), "tell");
	clean(record);
	return 0;
}

/* --- pid 1: the payload's namespace and filter ----------------------------------------------- */

static void filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog all = { 1, &allow };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all), "seccomp");
}

static int init(const char *program)
{
	int status;
	pid_t pid;

	if (strcmp(program, NO_PROGRAM) == 0) {
		filter();
		for (;;)
			pause();
	}
	pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		must(unshare(CLONE_NEWUSER), "unshare");
		become_root(0, 0);
		filter();
		for (int i = 0; i < CAPABILITIES; i++)
			must(prctl(PR_CAPBSET_DROP, i, 0, 0, 0), "capability");
		execl(program, program, NULL);
		die(program);
	}
	filter();
	must(waitpid(pid, &status, 0), "wait");
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "--supervisor") == 0)
		return supervise(argv[2], argv[3], argv[4], argv[5]);
	if (argc == 3 && strcmp(argv[1], "--init") == 0)
		return init(argv[2]);
	return argc == 5 ? front(argv[1], argv) : 2;
}
