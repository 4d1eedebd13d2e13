/*
 * Rules for the task that runs an errand (guest/errand.h). They keep the errand safe:
 * - The task reads each argument of the call only once from the caller's memory. It opens the
 *   target with the caller's root, working directory, ids, groups and capabilities, so the path
 *   leads to the same file as in a call by the caller itself.
 * - The task reads from the caller by its thread id. If the caller died, another thread could get
 *   this id. So after the last read the task asks the kernel whether the call still waits. If the
 *   call still waits, the caller lives, and everything was read from the caller.
 * - The mount of the target decides whether a privilege is allowed. The path does not matter. The
 *   task acts on a descriptor of the target, and asks the kernel in which mount this descriptor
 *   lies.
 * - The task never lets the kernel continue the call, because other threads of the caller may have
 *   changed the arguments in memory meanwhile.
 */
#include "guest/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "guest/caller.h"

#define NAME_BYTES 256 /* name of an attribute with its NUL */
#define PAGE_BYTES 4096u
#define PRIVILEGE_BITS 06000u
#define CAP_BIT(c) (1ull << (c))
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

/* --- what is asked for ----------------------------------------------------------------------- */

/* Says which arguments a system call has. */
struct form {
	int nr;
	/* the call names its target by a path, by a directory and a path, or by a descriptor */
	enum { BY_PATH, BY_DIR, BY_FD } by;
	bool attribute; /* the call sets an extended attribute; otherwise it sets a mode */
	bool no_follow;
	bool has_flags; /* the last argument has flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH */
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

struct request {
	const struct form *form;
	int dir; /* number of the caller's descriptor, or AT_FDCWD */
	bool no_follow;
	bool empty_path; /* an empty path means the descriptor `dir` itself */
	char path[PATH_MAX];
	unsigned mode;
	char name[NAME_BYTES];
	char value[24];
	size_t size;
	int flags; /* XATTR_CREATE, XATTR_REPLACE */
};

/* Reads N bytes at the address AT of the caller's memory, or fewer if the rest cannot be read.
 * Returns the number of bytes, or -1 with errno set. */
static ssize_t read_memory(pid_t tid, uint64_t at, void *to, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };

	return process_vm_readv(tid, &here, 1, &there, 1, 0);
}

/* Reads a string of fewer than N bytes. Returns 0 or -errno. If the string is longer, returns
 * -LONG_ERR. Reads page by page, because the page after the string may not exist. */
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

static int read_attribute(pid_t tid, const __u64 *arg, struct request *w)
{
	int r = read_string(tid, arg[1], w->name, sizeof(w->name), ERANGE);

	if (r < 0)
		return r;
	if (arg[3] > sizeof(w->value))
		return -E2BIG; /* the filter checked only the low 32 bits of the size */
	w->size = (size_t)arg[3];
	w->flags = (int)arg[4];
	if (read_memory(tid, arg[2], w->value, w->size) != (ssize_t)w->size)
		return -EFAULT;
	return 0;
}

static int read_request(const struct seccomp_notif *n, struct request *w)
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

static int open_in_proc(const struct errand_means *m, pid_t tid, const char *what, int number,
			int flags)
{
	char path[64];
	int fd;

	if (number >= 0)
		snprintf(path, sizeof(path), "%d/%s/%d", (int)tid, what, number);
	else
		snprintf(path, sizeof(path), "%d/%s", (int)tid, what);
	fd = openat(m->proc, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens what NUMBER means for the caller: one of its descriptors, or its working directory. */
static int open_base(const struct errand_means *m, pid_t tid, int number)
{
	int fd;

	if (number == AT_FDCWD)
		return open_in_proc(m, tid, "cwd", -1, O_PATH);
	if (number < 0)
		return -EBADF;
	fd = open_in_proc(m, tid, "fd", number, O_PATH);
	return fd == -ENOENT ? -EBADF : fd;
}

/* Refuses an O_PATH descriptor of the caller, because the kernel also refuses the caller's call on
 * such a descriptor. */
static int check_usable(const struct errand_means *m, pid_t tid, int number)
{
	char path[64];
	struct statx st;

	snprintf(path, sizeof(path), "%d/fd/%d", (int)tid, number);
	if (syscall(SYS_statx, m->proc, path, AT_SYMLINK_NOFOLLOW, STATX_MODE, &st) < 0)
		return -EBADF;
	/* the mode of the link in /proc tells how the file was opened */
	return st.stx_mode & 0700 ? 0 : -EBADF;
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

static int read_caller(const struct errand_means *m, pid_t tid, struct caller *ret)
{
	static char text[CALLER_STATUS_BYTES];
	AUTO_FD fd = open_in_proc(m, tid, "status", -1, O_RDONLY);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (have < sizeof(text) && (n = read(fd, text + have, sizeof(text) - have)) > 0)
		have += (size_t)n;
	ret->tid = tid;
	return caller_parse((struct str){ text, have }, ret);
}

/* Returns the permitted set of the task: the caller's capabilities, and SYS_PTRACE to follow
 * links of the caller's process. */
static uint64_t permitted(const struct caller *c)
{
	return c->capabilities | CAP_BIT(CAP_SYS_PTRACE);
}

/* Changes to the caller's fsuid and fsgid, which the kernel checks for files. Does not change the
 * real ids. With the caller's real ids, the task could get signals from the caller's user. With its
 * own real ids, it gets signals only from root in the sandbox. */
static int become(const struct exec_walls *w, const struct caller *c)
{
	if (!w->single_id && syscall(SYS_setgroups, c->n_groups, c->group) < 0)
		return -errno;
	syscall(SYS_setfsgid, c->gid);
	syscall(SYS_setfsuid, c->uid);
	if ((uint32_t)syscall(SYS_setfsgid, -1) != c->gid ||
	    (uint32_t)syscall(SYS_setfsuid, -1) != c->uid)
		return -EPERM;
	return set_capabilities(c->capabilities, permitted(c));
}

/* --- the target ------------------------------------------------------------------------------ */

static int open_path(int from, const char *path, bool no_follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (no_follow ? O_NOFOLLOW : 0),
				.resolve = RESOLVE_NO_MAGICLINKS };
	int fd = sys_openat2(from, path, &how);

	return fd < 0 ? -errno : fd;
}

/* Opens the path REST below the target of LINK, or the target itself if REST is empty. LINK is a
 * link in /proc of the caller's own process. The caller may always follow such a link. */
static int open_through_link(const struct caller *c, const char *link, const char *rest,
			     bool no_follow)
{
	AUTO_FD proc = open_path(AT_FDCWD, "/proc", true); /* relative to the caller's root */
	struct statfs fs;
	AUTO_FD fd = -1;

	if (proc < 0)
		return proc;
	if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return -ELOOP;
	if (set_capabilities(permitted(c), permitted(c)) < 0)
		return -EPERM;
	fd = openat(proc, link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (set_capabilities(c->capabilities, permitted(c)) < 0)
		return -EPERM;
	return *rest ? open_path(fd, rest, no_follow) : fd_take(&fd);
}

/* In a path that the task opens, /proc/self is the task and not the caller. So the task refuses
 * magic links of /proc. The only exception is a link of the caller's own process at the beginning
 * of the path. The task opens such a link with the caller's number instead of "self". */
static int open_target(const struct caller *c, const struct request *w, int base)
{
	char link[CALLER_LINK_BYTES];
	const char *rest;

	if (w->form->by == BY_FD || (w->empty_path && !w->path[0]))
		return base;
	if (caller_owns_link(c, w->path, link, &rest) && (*rest || !w->no_follow))
		return open_through_link(c, link, rest, w->no_follow);
	return open_path(base < 0 ? AT_FDCWD : base, w->path, w->no_follow);
}

/* --- acting ---------------------------------------------------------------------------------- */

static bool is_own(const struct errand_means *m, uint64_t mount)
{
	for (size_t i = 0; i < m->n_own; i++)
		if (m->own[i] == mount)
			return true;
	return false;
}

/* Makes the call on TARGET. TARGET is an O_PATH descriptor. The system calls refuse such a
 * descriptor, but accept its link in /proc. */
static int act(const struct errand_means *m, const struct request *w, int target)
{
	char link[32];
	struct statx st;
	bool keeps;

	if (syscall(SYS_statx, target, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &st) < 0)
		return -errno;
	/* A directory may keep the PRIVILEGE_BITS, because they only decide which group its new
	 * files get. Any other target may keep them only in a mount of the sandbox's own. */
	keeps = S_ISDIR(st.stx_mode) || (st.stx_mask & STATX_MNT_ID && is_own(m, st.stx_mnt_id));
	snprintf(link, sizeof(link), "self/fd/%d", target);
	if (fchdir(m->proc) < 0)
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

int errand_run(const struct errand_means *m, const struct seccomp_notif *n)
{
	static struct caller caller;
	static struct request request;
	pid_t tid = (pid_t)n->pid;
	uint64_t id = n->id;
	int root, base = -1, target, r;

	if ((r = (int)exec_join_cgroups(m->walls)) < 0 || (r = read_request(n, &request)) < 0)
		return r;
	if (request.form->by == BY_FD && (r = check_usable(m, tid, request.dir)) < 0)
		return r;
	root = open_in_proc(m, tid, "root", -1, O_PATH);
	if (root < 0)
		return root;
	if (request.form->by == BY_FD || request.path[0] != '/') {
		base = open_base(m, tid, request.dir);
		if (base < 0)
			return base;
	}
	/* enter the payload's namespace first, because then /proc shows the caller's ids as they
	 * are in this namespace */
	if (setns(m->walls->userns, CLONE_NEWUSER) < 0)
		return -errno;
	if ((r = read_caller(m, tid, &caller)) < 0)
		return r;
	if (fchdir(root) < 0 || chroot(".") < 0)
		return -errno;
	if ((r = become(m->walls, &caller)) < 0)
		return r;
	target = open_target(&caller, &request, base);
	if (target < 0)
		return target;
	if (ioctl(m->listener, (int)SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		return -errno;
	return act(m, &request, target);
}
