#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

#define RIGHTS_V1 ((1ull << 13) - 1)

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

int confine_capabilities(uint64_t keep, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	/* with no_new_privs, even uid 0 cannot regain capabilities by exec, so we need not drop
	 * 41 capabilities from the bounding set */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, errno, "give up gaining privileges");
	if (syscall(SYS_capget, &head, data) < 0)
		return err_sys(e, errno, "read our capabilities");
	if (!data[0].permitted && !data[1].permitted)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(e, errno, "drop capabilities");
	return 0;
}

int confine_limit(int resource, rlim_t max, struct err *e)
{
	struct rlimit l;

	if (getrlimit(resource, &l) < 0)
		return err_sys(e, errno, "read our limits");
	if (l.rlim_max > max)
		l.rlim_max = max;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	return setrlimit(resource, &l) < 0 ? err_sys(e, errno, "lower our limits") : 0;
}

int confine_core(struct err *e)
{
	const struct rlimit wanted = { CONFINE_CORE_BYTES, CONFINE_CORE_BYTES };
	struct rlimit now;
	int why;

	if (setrlimit(RLIMIT_CORE, &wanted) == 0)
		return 0;
	why = errno;
	if (getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max == 0)
		return 0;
	return err_sys(e, why, "forbid core dumps");
}

int confine_enclose(int fd)
{
	AUTO_FD tree = sys_open_tree(
		fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	AUTO_FD dir = tree < 0 ? -1 : openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 || dup3(dir, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

int confine_files_begin(struct confine_files *f, struct err *e)
{
	long version = landlock_version();
	struct landlock_ruleset_attr attr = { 0 };

	*f = (struct confine_files){ .ruleset = -1 };
	if (version < 1)
		return 0;
	f->handled = RIGHTS_V1;
	/* Landlock version 1 lacks REFER and forbids all moves between directories */
	if (version >= 2)
		f->handled |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		f->handled |= LANDLOCK_ACCESS_FS_TRUNCATE;
	attr.handled_access_fs = f->handled;
	f->ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	return f->ruleset < 0 ? err_sys(e, errno, "restrict the files we may use") : 0;
}

int confine_files_allow(struct confine_files *f, int fd, uint64_t rights, struct err *e)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights & f->handled,
						   .parent_fd = fd };

	if (f->ruleset < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, f->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(e, errno, "keep a file we use");
	return 0;
}

int confine_files_allow_path(struct confine_files *f, const char *path, uint64_t rights,
			     struct err *e)
{
	AUTO_FD fd = -1;

	if (f->ruleset < 0)
		return 0;
	/* not open(), because musl's open() makes a second system call, fcntl(), to set
	 * close-on-exec */
	fd = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return err_sys(e, errno, "open '%s'", path);
	return confine_files_allow(f, fd, rights, e);
}

int confine_files_end(struct confine_files *f, struct err *e)
{
	if (f->ruleset >= 0 && syscall(SYS_landlock_restrict_self, f->ruleset, 0) < 0)
		return err_sys(e, errno, "restrict the files we may use");
	confine_files_done(f);
	return 0;
}

void confine_files_done(struct confine_files *f)
{
	fd_closep(&f->ruleset);
}

int confine_calls(const struct sock_filter *filter, unsigned short n, struct err *e)
{
	struct sock_fprog program = { .len = n, .filter = (struct sock_filter *)filter };

	if (!SANITIZED && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_sys(e, errno, "restrict the system calls we may make");
	return 0;
}
