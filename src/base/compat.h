/*
 * System calls and constants that our C libraries lack.
 *
 * Each function makes only one system call and sets errno as usual. Only sys_openat2() may repeat
 * its call. This header also defines numbers that the headers of Debian 12 (Linux 6.1) may lack.
 * For newer system calls and options, a comment says which kernel introduced them.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443 /* Linux 5.14; musl 1.2.3 does not define it */
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* The kernel fails with EAGAIN if any process of the machine renames or mounts something while the
 * kernel looks up a `..` for RESOLVE_BENEATH or RESOLVE_IN_ROOT. While eight other processes do
 * nothing but rename, one lookup in ten fails, and seldom two in a row. */
#define OPENAT2_TRIES_MAX 64

/* Opens PATH as HOW says. If the kernel cannot be sure of a `..`, tries again. */
static inline int sys_openat2(int dirfd, const char *path, struct open_how *how)
{
	unsigned tries = 0;
	int fd;

	do
		fd = (int)syscall(SYS_openat2, dirfd, path, how, sizeof(*how));
	while (fd < 0 && errno == EAGAIN && ++tries < OPENAT2_TRIES_MAX);
	return fd;
}

/* Does read(2), but fails with EAGAIN instead of waiting, even on a blocking descriptor. Fails with
 * EOPNOTSUPP if the kernel cannot do that for this kind of descriptor (pipes: since Linux 6.5). */
static inline ssize_t sys_read_nowait(int fd, void *p, size_t n)
{
	struct iovec v = { p, n };

	return syscall(SYS_preadv2, fd, &v, 1ul, -1l, -1l, RWF_NOWAIT);
}

static inline ssize_t sys_write_nowait(int fd, const void *p, size_t n)
{
	struct iovec v = { (void *)p, n };

	return syscall(SYS_pwritev2, fd, &v, 1ul, -1l, -1l, RWF_NOWAIT);
}

static inline int sys_fchmodat2(int dirfd, const char *path, unsigned mode, unsigned flags)
{
	return (int)syscall(SYS_fchmodat2, dirfd, path, mode, flags);
}

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sys_move_mount(int from_fd, const char *from, int to_fd, const char *to,
				 unsigned flags)
{
	return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

static inline int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, aux);
}

static inline int sys_fsmount(int fd, unsigned flags, unsigned attrs)
{
	return (int)syscall(SYS_fsmount, fd, flags, attrs);
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
				    struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof(*attr));
}

static inline int sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int sys_pidfd_send_signal(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int sys_renameat2(int from_fd, const char *from, int to_fd, const char *to,
				unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

/* Works like fork(): in the child it returns 0, on a copy of the stack. Do not pass CLONE_VM. */
static inline pid_t sys_clone3(struct clone_args *args)
{
	return (pid_t)syscall(SYS_clone3, args, sizeof(*args));
}
