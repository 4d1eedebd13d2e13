/*
 * One process waits for calls and starts a task for each, DEPUTY_TASKS_MAX at a time; those that come
 * meanwhile wait in the kernel. A task reads what it needs of the caller, becomes the caller as far as files are
 * concerned, opens the target, asks whether the call is still waiting, and acts on what it has opened. Its exit
 * status is the answer. The kernel is never told to go on with the call itself: its arguments
 * lie in memory that the caller's other threads may have changed since.
 *
 * What must hold:
 * - Everything that decides is read once. Paths lead where the caller's rights lead: its root, directory, ids,
 *   groups and capabilities are those of the task while it opens the target.
 * - After the last thing that was read from the caller comes the question whether the call waits. If it does, the
 *   number of the caller meant the caller all along.
 * - Which mount the target is on decides, not its path: it is asked of the descriptor that is acted on.
 * - Root inside can stop or kill a task, as it is in the payload's namespace then: the deputy waits for none
 *   of them, and ends those that take too long. Nobody inside can read one: its memory is a copy of pid 1's.
 */
#include "guest/deputy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "guest/caller.h"
#include "guest/seccomp.h"

#define DEPUTY_TASKS_MAX 8
#define TASK_PATIENCE_NS \
	(2000 * NS_PER_MS) /* a stopped one is ended then; a slow disk may need long */
#define KEPT_MAX (4 + EXEC_TASK_FDS_MAX) /* descriptors of ours */
#define NOTE_BYTES 512                   /* room for what newer kernels add to their messages */
#define NAME_BYTES 256                   /* of an attribute, its end included */
#define PAGE_BYTES 4096u
#define PRIVILEGE_BITS 06000u
#define CAP_BIT(c) (1ull << (c))
#ifndef FSPICK_CLOEXEC
#define FSPICK_CLOEXEC 1
#define FSPICK_EMPTY_PATH 8
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5) /* Linux 5.19 */
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

struct task {
	int pidfd;
	uint64_t id; /* of the call */
	uint64_t deadline;
};

struct office {
	const struct exec_walls *walls;
	int listener;
	int proc; /* the sandbox's /proc, whatever the caller's root is */
	uint64_t own[1 + DEPUTY_OWN_MAX];
	size_t n_own;
	struct task task[DEPUTY_TASKS_MAX];
	unsigned n_tasks;
};

/* --- what is asked for ----------------------------------------------------------------------- */

/* Where the arguments of a call are. */
struct form {
	int nr;
	enum { BY_PATH, BY_DIR, BY_FD } by; /* a path; a directory and a path; a descriptor */
	bool attribute;                     /* an extended attribute, not a mode */
	bool no_follow;
	bool has_flags; /* the last argument: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH */
};

static const struct form forms[] = {
	// clang-format off
	{ SYS_chmod,     BY_PATH, false, false, false },
	{ SYS_fchmod,    BY_FD,   false, false, false },
	{ SYS_fchmodat,  BY_DIR,  false, false, false },
	{ SYS_fchmodat2, BY_DIR,  false, false, true },
	{ SYS_setxattr,  BY_PATH, true,  false, false },
	{ SYS_lsetxattr, BY_PATH, true,  true,  false },
	{ SYS_fsetxattr, BY_FD,   true,  false, false },
	// clang-format on
};

struct wish {
	const struct form *form;
	int dir; /* number of the caller's descriptor, or AT_FDCWD */
	bool no_follow;
	bool empty_path; /* an empty path means DIR itself */
	char path[PATH_MAX];
	unsigned mode;
	char name[NAME_BYTES];
	char value[24];
	size_t size;
	int flags; /* XATTR_CREATE, XATTR_REPLACE */
};

/* N bytes at AT of the caller's memory; fewer when the rest cannot be read. */
static ssize_t read_memory(pid_t tid, uint64_t at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(tid, &here, 1, &there, 1, 0);
}

/* A string of fewer than N bytes; LONG_ERR when it is longer. Page by page: what follows the last one may not be
 * there. */
static int read_string(pid_t tid, uint64_t at, char *to, size_t n, int long_err)
{
	size_t have = 0;

	while (have < n) {
		size_t want = PAGE_BYTES - (at + have) % PAGE_BYTES;
		ssize_t got;

		if (want > n - have)
			want = n - have;
		got = read_memory(tid, at + have, to + have, want);
		if (got <= 0)
			return got < 0 ? -errno : -EFAULT;
		if (memchr(to + have, '\0', (size_t)got))
			return 0;
		have += (size_t)got;
	}
	return -long_err;
}

static int read_attribute(pid_t tid, const __u64 *arg, struct wish *w)
{
	int r = read_string(tid, arg[1], w->name, sizeof(w->name), ERANGE);

	if (r < 0)
		return r;
	if (arg[3] > sizeof(w->value))
		return -E2BIG; /* the filter saw half of the number */
	w->size = (size_t)arg[3];
	w->flags = (int)arg[4];
	if (read_memory(tid, arg[2], w->value, w->size) != (ssize_t)w->size)
		return -EFAULT;
	return 0;
}

static int read_wish(const struct seccomp_notif *n, struct wish *w)
{
	const __u64 *arg = n->data.args;
	const struct form *f = NULL;
	unsigned flags = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (forms[i].nr == n->data.nr)
			f = &forms[i];
	if (!f)
		return -ENOSYS;
	w->form = f;
	w->dir = f->by == BY_PATH ? AT_FDCWD : (int)arg[0];
	if (f->by != BY_FD) {
		unsigned at = f->by == BY_DIR;

		r = read_string((pid_t)n->pid, arg[at], w->path, sizeof(w->path), ENAMETOOLONG);
	}
	if (f->has_flags)
		flags = (unsigned)arg[3];
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	w->no_follow = f->no_follow || flags & AT_SYMLINK_NOFOLLOW;
	w->empty_path = flags & AT_EMPTY_PATH;
	if (r == 0 && f->attribute)
		return read_attribute((pid_t)n->pid, arg, w);
	w->mode = (unsigned)arg[f->by == BY_DIR ? 2 : 1] & 07777;
	return r;
}

/* --- becoming the caller --------------------------------------------------------------------- */

static int join_cgroups(const struct exec_walls *w)
{
	for (unsigned i = 0; i < w->n_task_fds; i++)
		if (write(w->task_fd[i], "0", 1) < 0)
			return -errno;
	return 0;
}

static int open_of(const struct office *o, pid_t tid, const char *what, int number, int flags)
{
	char path[64];
	int fd;

	if (number >= 0)
		snprintf(path, sizeof(path), "%d/%s/%d", (int)tid, what, number);
	else
		snprintf(path, sizeof(path), "%d/%s", (int)tid, what);
	fd = openat(o->proc, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What the kernel would take NUMBER for: a descriptor of the caller, or its directory. */
static int open_start(const struct office *o, pid_t tid, int number)
{
	int fd;

	if (number == AT_FDCWD)
		return open_of(o, tid, "cwd", -1, O_PATH);
	if (number < 0)
		return -EBADF;
	fd = open_of(o, tid, "fd", number, O_PATH);
	return fd == -ENOENT ? -EBADF : fd;
}

/* A descriptor that only names a file does for a path to start from, and for nothing else. */
static int check_usable(const struct office *o, pid_t tid, int number)
{
	char path[64];
	struct statx st;

	snprintf(path, sizeof(path), "%d/fd/%d", (int)tid, number);
	if (syscall(SYS_statx, o->proc, path, AT_SYMLINK_NOFOLLOW, STATX_MODE, &st) < 0)
		return -EBADF;
	return st.stx_mode & 0700 ? 0 : -EBADF; /* the link shows what it was opened for */
}

static int set_capabilities(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(effective >> 32 * i);
		data[i].permitted = (uint32_t)(permitted >> 32 * i);
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

static int read_caller(const struct office *o, pid_t tid, struct caller *ret)
{
	static char text[CALLER_STATUS_BYTES];
	AUTO_FD fd = open_of(o, tid, "status", -1, O_RDONLY);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (have < sizeof(text) && (n = read(fd, text + have, sizeof(text) - have)) > 0)
		have += (size_t)n;
	ret->tid = tid;
	return caller_parse((struct str){ text, have }, ret);
}

/* What it may still become: the caller plus the right to follow links of the caller's process. */
static uint64_t reserve(const struct caller *c)
{
	return c->capabilities | CAP_BIT(CAP_SYS_PTRACE);
}

/* Of its ids only those that the kernel asks about files: with the others nobody but root inside could end
 * us. */
static int become(const struct exec_walls *w, const struct caller *c)
{
	if (!w->single_id && syscall(SYS_setgroups, c->n_groups, c->group) < 0)
		return -errno;
	syscall(SYS_setfsgid, c->gid);
	syscall(SYS_setfsuid, c->uid);
	if ((uint32_t)syscall(SYS_setfsgid, -1) != c->gid ||
	    (uint32_t)syscall(SYS_setfsuid, -1) != c->uid)
		return -EPERM;
	return set_capabilities(c->capabilities, reserve(c));
}

/* --- the target ------------------------------------------------------------------------------ */

static int open_path(int from, const char *path, bool no_follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0),
				.resolve = RESOLVE_NO_MAGICLINKS };
	int fd = sys_openat2(from, path, &how);

	return fd < 0 ? -errno : fd;
}

/* LINK of the caller's own process, which the caller may follow always, and REST from there. */
static int open_through_link(const struct caller *c, const char *link, const char *rest,
			     bool no_follow)
{
	AUTO_FD proc = open_path(AT_FDCWD, "/proc", true); /* of the caller's root */
	struct statfs fs;
	AUTO_FD fd = -1;

	if (proc < 0)
		return proc;
	if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return -ELOOP;
	if (set_capabilities(reserve(c), reserve(c)) < 0)
		return -EPERM;
	fd = openat(proc, link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (set_capabilities(c->capabilities, reserve(c)) < 0)
		return -EPERM;
	return *rest ? open_path(fd, rest, no_follow) : fd_take(&fd);
}

/* /proc/self would be ours: no path goes through links of /proc but one that begins with the caller's own. */
static int open_target(const struct caller *c, const struct wish *w, int start)
{
	char link[CALLER_LINK_BYTES];
	const char *rest;

	if (w->form->by == BY_FD || (w->empty_path && !w->path[0]))
		return start;
	if (caller_owns_link(c, w->path, link, &rest) && (*rest || !w->no_follow))
		return open_through_link(c, link, rest, w->no_follow);
	return open_path(start < 0 ? AT_FDCWD : start, w->path, w->no_follow);
}

/* --- acting ---------------------------------------------------------------------------------- */

static bool is_own(const struct office *o, uint64_t mount)
{
	for (size_t i = 0; i < o->n_own; i++)
		if (o->own[i] == mount)
			return true;
	return false;
}

/* On what TARGET is. Neither call takes a descriptor that only names a file; its link in /proc does. */
static int act(const struct office *o, const struct wish *w, int target)
{
	char link[32];
	struct statx st;
	bool keeps;

	if (syscall(SYS_statx, target, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &st) < 0)
		return -errno;
	/* bits of a directory say whose its new files are */
	keeps = S_ISDIR(st.stx_mode) || (st.stx_mask & STATX_MNT_ID && is_own(o, st.stx_mnt_id));
	snprintf(link, sizeof(link), "self/fd/%d", target);
	if (fchdir(o->proc) < 0)
		return -errno;
	if (!w->form->attribute)
		return syscall(SYS_fchmodat, AT_FDCWD, link,
			       keeps ? w->mode : w->mode & ~PRIVILEGE_BITS) < 0
			       ? -errno
			       : 0;
	if (!keeps && strcmp(w->name, "security.capability") == 0)
		return -EPERM;
	return setxattr(link, w->name, w->value, w->size, w->flags) < 0 ? -errno : 0;
}

static int do_call(const struct office *o, const struct seccomp_notif *n)
{
	static struct caller caller;
	static struct wish wish;
	pid_t tid = (pid_t)n->pid;
	uint64_t id = n->id;
	int root, start = -1, target, r;

	if ((r = join_cgroups(o->walls)) < 0 || (r = read_wish(n, &wish)) < 0)
		return r;
	if (wish.form->by == BY_FD && (r = check_usable(o, tid, wish.dir)) < 0)
		return r;
	root = open_of(o, tid, "root", -1, O_PATH);
	if (root < 0)
		return root;
	if (wish.form->by == BY_FD || wish.path[0] != '/') {
		start = open_start(o, tid, wish.dir);
		if (start < 0)
			return start;
	}
	/* its ids as the payload's namespace has them */
	if (setns(o->walls->userns, CLONE_NEWUSER) < 0)
		return -errno;
	if ((r = read_caller(o, tid, &caller)) < 0)
		return r;
	if (fchdir(root) < 0 || chroot(".") < 0)
		return -errno;
	if ((r = become(o->walls, &caller)) < 0)
		return r;
	target = open_target(&caller, &wish, start);
	if (target < 0)
		return target;
	if (ioctl(o->listener, (int)SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return -errno;
	return act(o, &wish, target);
}

/* --- the deputy ------------------------------------------------------------------------------ */

union note {
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;
	char room[NOTE_BYTES];
};

static void answer(const struct office *o, uint64_t id, int error)
{
	union note n = { .answer = { .id = id, .error = error } };

	/* the caller may be gone */
	IGNORE(ioctl(o->listener, (int)SECCOMP_IOCTL_NOTIF_SEND, &n.answer));
}

static void begin(struct office *o, const struct seccomp_notif *n)
{
	struct task t = { .pidfd = -1,
			  .id = n->id,
			  .deadline = clock_mono_ns() + TASK_PATIENCE_NS };
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&t.pidfd };
	pid_t pid = sys_clone3(&args);

	if (pid == 0)
		_exit(-do_call(o, n));
	if (pid < 0)
		answer(o, n->id, -EAGAIN);
	else
		o->task[o->n_tasks++] = t;
}

static void take_call(struct office *o)
{
	union note n = { 0 };

	/* ENOENT: it was killed meanwhile */
	if (ioctl(o->listener, (int)SECCOMP_IOCTL_NOTIF_RECV, &n.call) == 0)
		begin(o, &n.call);
}

/* EIO: it was killed, by root inside or because it took too long. */
static void finish(struct office *o, unsigned i)
{
	struct task t = o->task[i];
	siginfo_t si = { 0 };

	while (waitid(P_PIDFD, (id_t)t.pidfd, &si, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	fd_closep(&t.pidfd);
	o->task[i] = o->task[--o->n_tasks];
	answer(o, t.id, si.si_code == CLD_EXITED ? -si.si_status : -EIO);
}

/* Milliseconds until a task has had its time; those that had are ended. */
static int next_deadline(const struct office *o)
{
	uint64_t now = clock_mono_ns(), first = UINT64_MAX;

	for (unsigned i = 0; i < o->n_tasks; i++)
		if (o->task[i].deadline <= now)
			IGNORE(sys_pidfd_send_signal(o->task[i].pidfd, SIGKILL));
		else if (o->task[i].deadline < first)
			first = o->task[i].deadline;
	return first == UINT64_MAX ? -1 : (int)((first - now) / NS_PER_MS + 1);
}

static void turn(struct office *o)
{
	struct pollfd p[1 + DEPUTY_TASKS_MAX];
	unsigned n = o->n_tasks;

	p[0] = (struct pollfd){ .fd = o->listener, .events = n < DEPUTY_TASKS_MAX ? POLLIN : 0 };
	for (unsigned i = 0; i < n; i++)
		p[1 + i] = (struct pollfd){ .fd = o->task[i].pidfd, .events = POLLIN };
	if (poll(p, 1 + n, next_deadline(o)) < 0)
		return;
	for (unsigned i = n; i-- > 0;)
		if (p[1 + i].revents)
			finish(o, i);
	if (p[0].revents & POLLIN)
		take_call(o);
	else if (p[0].revents)
		_exit(0); /* nobody is left who could call */
}

/* Whether the file system that FD is on belongs to a user namespace of the sandbox: its privileges mean nothing to
 * others. The kernel is asked to set its options anew, to none, which takes the owner's right. */
static bool is_ours(int fd)
{
	AUTO_FD fs = (int)syscall(SYS_fspick, fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

	return fs >= 0 && sys_fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0;
}

static void add_own(struct office *o, const char *path, const struct boot_message *boot)
{
	AUTO_FD fd = open(path, O_PATH | O_CLOEXEC);
	struct statx st;
	bool own = strcmp(path, "/") == 0;

	if (fd < 0 || syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return;
	for (size_t i = 0; i < boot->n_own_devices; i++)
		own |= boot->own_device[i] == ((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor);
	if (own || is_ours(fd))
		o->own[o->n_own++] = st.stx_mnt_id;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* What pid 1 had open is not ours. */
static void close_others(int *kept, size_t n)
{
	unsigned from = 0;

	qsort(kept, n, sizeof(kept[0]), by_number);
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)kept[i] > from)
			IGNORE(sys_close_range(from, (unsigned)kept[i] - 1, 0));
		from = (unsigned)kept[i] + 1;
	}
	IGNORE(sys_close_range(from, ~0u, 0));
}

static int receive_listener(int link)
{
	int fd = -1;
	unsigned n = 0;
	char byte;

	return fdpass_recv(link, &byte, 1, &fd, 1, &n) == 1 && n == 1 ? fd : -1;
}

/* To look into /proc/TID of everyone inside, file agents (guest/agent.h) among them: they are copies of pid 1, as
 * unreadable. All else comes from owning the payload's namespace. */
static bool confine(void)
{
	struct sock_fprog program = { deputy_filter_len, (struct sock_filter *)deputy_filter };
	uint64_t keep = CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH);

	return set_capabilities(keep, keep) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static _Noreturn void serve(const struct exec_walls *w, const struct boot_message *boot, int link)
{
	static struct office o;
	struct seccomp_notif_sizes sizes;
	int kept[KEPT_MAX];
	size_t n = 0;

	IGNORE(prctl(PR_SET_NAME, "cordon-deputy"));
	o.walls = w;
	o.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	kept[n++] = o.proc;
	kept[n++] = link;
	kept[n++] = w->userns;
	for (unsigned i = 0; i < w->n_task_fds; i++)
		kept[n++] = w->task_fd[i];
	close_others(kept, n);
	for (size_t i = 0; i < boot->n_own_mounts && i < DEPUTY_OWN_MAX; i++)
		add_own(&o, boot->own_mount[i], boot);
	if (o.proc < 0 || syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ||
	    sizes.seccomp_notif > NOTE_BYTES || sizes.seccomp_notif_resp > NOTE_BYTES)
		_exit(1);
	o.listener = receive_listener(link);
	fd_closep(&link);
	if (o.listener < 0 || !confine())
		_exit(1);
	for (;;)
		turn(&o);
}

/* --- pid 1 ----------------------------------------------------------------------------------- */

int deputy_start(const struct exec_walls *w, const struct boot_message *boot, struct deputy *ret,
		 struct err *e)
{
	struct clone_args args = { 0 }; /* no signal at its end: sessions_reap() */
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, errno, "make a socket");
	ret->pid = sys_clone3(&args);
	if (ret->pid == 0) /* signals are blocked, and stay so */
		serve(w, boot, pair[1]);
	(void)close(pair[1]);
	ret->link = pair[0];
	if (ret->pid < 0) {
		fd_closep(&ret->link);
		return err_sys(e, errno, "start the deputy");
	}
	return 0;
}

int deputy_engage(struct deputy *d, struct err *e)
{
	struct sock_fprog program = { notify_filter_len, (struct sock_filter *)notify_filter };
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* else every signal to a caller would make it call anew, while the first call is done */
	AUTO_FD listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	int r;

	if (listener < 0 && errno == EINVAL)
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0 && errno == EBUSY)
		return err_set(e, ERR_UNSUPPORTED,
			       "a program above us is handed system calls already (seccomp), so "
			       "directories of the host can only be shared read-only here");
	if (listener < 0)
		return err_sys(e, errno, "have calls handed to the deputy");
	r = fdpass_send(d->link, "", 1, &listener, 1);
	fd_closep(&d->link);
	return r < 0 ? err_sys(e, -r, "give the deputy its calls") : 0;
}
