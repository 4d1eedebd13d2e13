#include "store/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/confine.h"

/* The system calls that workers make. These take a path. A worker without a tree may not make
 * them, because its root directory is still the host's. */
static const unsigned tree_calls[] = {
	// clang-format off
	__NR_openat, __NR_openat2, __NR_mkdirat, __NR_mknodat,
	__NR_symlinkat, __NR_linkat, __NR_unlinkat, __NR_renameat, __NR_renameat2,
	__NR_fchownat, __NR_fchmodat, __NR_utimensat, __NR_readlinkat,
	// clang-format on
};
/* Calls on open files and memory, and what libc and the sanitizers need at exit. */
static const unsigned other_calls[] = {
	// clang-format off
	__NR_read, __NR_write, __NR_pread64, __NR_pwrite64, __NR_readv, __NR_writev,
	__NR_close, __NR_fstat, __NR_newfstatat, __NR_statx, __NR_lseek, __NR_mmap,
	__NR_munmap, __NR_mremap, __NR_mprotect, __NR_madvise, __NR_brk, __NR_futex,
	__NR_getrandom, __NR_rt_sigprocmask, __NR_rt_sigaction, __NR_rt_sigreturn, __NR_exit,
	__NR_exit_group, __NR_fchown, __NR_fchmod,
	__NR_fsetxattr, __NR_fgetxattr, __NR_flistxattr, __NR_fremovexattr, __NR_ftruncate, __NR_getdents64, __NR_fcntl,
	__NR_dup, __NR_clock_gettime, __NR_gettimeofday, __NR_getpid, __NR_gettid,
	__NR_tgkill, __NR_sched_yield, __NR_fadvise64, __NR_umask, __NR_sched_getaffinity,
	__NR_sigaltstack,
	// clang-format on
};

static unsigned short add_calls(struct sock_filter *code, const unsigned *calls, size_t n_calls,
				size_t n_after)
{
	for (size_t i = 0; i < n_calls; i++) {
		unsigned char to_allow = (unsigned char)(n_calls - i + n_after);

		code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
						       to_allow, 0);
	}
	return (unsigned short)n_calls;
}

static int filter_calls(bool has_tree, struct err *e)
{
	struct sock_filter code[ARRAY_SIZE(tree_calls) + ARRAY_SIZE(other_calls) + 8];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	if (has_tree)
		n += add_calls(code + n, tree_calls, ARRAY_SIZE(tree_calls),
			       ARRAY_SIZE(other_calls));
	n += add_calls(code + n, other_calls, ARRAY_SIZE(other_calls), 0);
	/* EPERM rather than a kill, because libc tries calls that it can do without */
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return err_sys(e, errno, "install the worker's call filter");
	return 0;
}

/* The parent passes /dev/null where a worker needs no directory. */
static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Replaces FD by a detached clone of its mount, in which `..` cannot lead above FD. */
static int enclose(int fd)
{
	AUTO_FD tree = sys_open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	AUTO_FD dir = tree < 0 ? -1 : openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 || dup3(dir, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

/* Landlock restricts opening files, but not chown and chmod. So DIR_FD becomes the root directory
 * and `..` of READ_FD ends there: the worker can name nothing else. An ordinary user's worker
 * without a user namespace may do neither, but it has no capabilities and cannot change other
 * users' files. */
static int leave_the_host(int dir_fd, int read_fd, struct err *e)
{
	int r = is_directory(read_fd) ? enclose(read_fd) : 0;

	if (r < 0 && r != -EPERM)
		return err_sys(e, -r, "enclose the worker's source");
	if (!is_directory(dir_fd))
		return 0;
	if (fchdir(dir_fd) < 0 || (chroot(".") < 0 && errno != EPERM))
		return err_sys(e, errno, "change the worker's root directory");
	return 0;
}

static int limit_files(int dir_fd, int read_fd, struct err *e)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	struct confine_files f;

	if (confine_files_begin(&f, e) < 0)
		return -1;
	/* Landlock's first version forbids every link and rename between directories */
	if (!(f.handled & LANDLOCK_ACCESS_FS_REFER)) {
		confine_files_drop(&f);
		return 0;
	}
	if ((is_directory(dir_fd) && confine_files_allow(&f, dir_fd, f.handled, e) < 0) ||
	    (is_directory(read_fd) && confine_files_allow(&f, read_fd, read, e) < 0) ||
	    confine_files_end(&f, e) < 0) {
		confine_files_drop(&f);
		return -1;
	}
	return 0;
}

static int drop_privilege(struct err *e)
{
	return confine_capabilities(CONFINE_CAP(CAP_CHOWN) | CONFINE_CAP(CAP_DAC_OVERRIDE) |
					    CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_FSETID) |
					    CONFINE_CAP(CAP_SETFCAP),
				    e);
}

/* Only lowers a limit: the caller may have set a lower one on purpose. */
static int lower_limit(int resource, rlim_t max, struct err *e)
{
	struct rlimit l;

	if (getrlimit(resource, &l) < 0)
		return err_sys(e, errno, "read the worker's limits");
	if (l.rlim_max > max)
		l.rlim_max = max;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	if (setrlimit(resource, &l) < 0)
		return err_sys(e, errno, "limit the worker");
	return 0;
}

static int limit_resources(struct err *e)
{
	if (lower_limit(RLIMIT_CORE, 0, e) < 0 ||
	    lower_limit(RLIMIT_NOFILE, WORKER_OPEN_FILES_MAX, e) < 0)
		return -1;
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer's shadow memory is larger than any limit */
	if (lower_limit(RLIMIT_DATA, WORKER_MEMORY_MAX_BYTES, e) < 0)
		return -1;
#endif
	return 0;
}

int confine(int dir_fd, int read_fd, struct err *e)
{
	/* capabilities are dropped before Landlock, which needs no_new_privs without them; the
	 * filter comes last, since it forbids the other steps */
	if (limit_resources(e) < 0 || leave_the_host(dir_fd, read_fd, e) < 0 ||
	    drop_privilege(e) < 0 || limit_files(dir_fd, read_fd, e) < 0)
		return -1;
	return filter_calls(is_directory(dir_fd), e);
}
