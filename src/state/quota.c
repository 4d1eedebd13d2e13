#include "state/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"

#define UNUSED_TRIES 16 /* how many random numbers are tried; nearly always the first is unused */

static int quota_call(int dir, unsigned cmd, uint32_t project, void *arg)
{
	return syscall(SYS_quotactl_fd, dir, QCMD(cmd, PRJQUOTA), project, arg) < 0 ? -errno : 0;
}

bool quota_enforced(int dir)
{
	struct fs_quota_statv state = { .qs_version = FS_QSTATV_VERSION1 };

	/* ext4 and xfs both know this call; the flag is set only if limits are enforced */
	return quota_call(dir, Q_XGETQSTATV, 0, &state) == 0 &&
	       (state.qs_flags & FS_QUOTA_PDQ_ENFD);
}

static bool is_ours(const struct fsxattr *x)
{
	return (x->fsx_xflags & FS_XFLAG_PROJINHERIT) && x->fsx_projid >= QUOTA_FIRST &&
	       x->fsx_projid - QUOTA_FIRST < QUOTA_COUNT;
}

uint32_t quota_project(int dir)
{
	struct fsxattr x = { 0 };

	return ioctl(dir, FS_IOC_FSGETXATTR, &x) == 0 && is_ours(&x) ? x.fsx_projid : 0;
}

static int adopt(int dir, uint32_t project)
{
	struct fsxattr x = { 0 };

	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	x.fsx_projid = project;
	x.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(dir, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

int quota_adopt(int dir)
{
	for (unsigned i = 0; i < UNUSED_TRIES; i++) {
		struct if_dqblk q = { 0 };
		uint32_t project;
		int r;

		if (getrandom(&project, sizeof(project), 0) != sizeof(project))
			return -errno;
		project = QUOTA_FIRST + project % QUOTA_COUNT;
		r = quota_call(dir, Q_GETQUOTA, project, &q);
		/* with these errors xfs says that the number is unused */
		if (r < 0 && r != -ENOENT && r != -ESRCH)
			return r;
		if (q.dqb_bhardlimit || q.dqb_ihardlimit || q.dqb_curspace || q.dqb_curinodes)
			continue;
		return adopt(dir, project);
	}
	return -EBUSY;
}

int quota_limit(int dir, uint64_t bytes)
{
	uint32_t project = quota_project(dir);
	struct if_dqblk q = { 0 };
	uint64_t files;
	int r;

	if (!project || !quota_enforced(dir))
		return -ENOTSUP;
	r = quota_call(dir, Q_GETQUOTA, project, &q);
	if (r < 0 && r != -ENOENT && r != -ESRCH)
		return r;
	files = bytes / QUOTA_INODE_BYTES;
	q = (struct if_dqblk){
		.dqb_bhardlimit = (q.dqb_curspace > bytes ? q.dqb_curspace : bytes) / QIF_DQBLKSIZE,
		.dqb_ihardlimit = q.dqb_curinodes > files ? q.dqb_curinodes : files,
		.dqb_valid = QIF_LIMITS,
	};
	return quota_call(dir, Q_SETQUOTA, project, &q);
}

bool quota_release(int dirfd, const char *path)
{
	AUTO_FD dir = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct if_dqblk none = { .dqb_valid = QIF_LIMITS };
	struct fsxattr x = { 0 };
	int r;

	if (dir < 0)
		return errno == ENOENT || errno == ENOTDIR;
	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0)
		return errno == ENOTTY || errno == EOPNOTSUPP; /* the file system has no quotas */
	if (!is_ours(&x))
		return true;
	r = quota_call(dir, Q_SETQUOTA, x.fsx_projid, &none);
	return r == 0 || r == -ESRCH; /* ESRCH: mounted without quotas, so there is no limit */
}
