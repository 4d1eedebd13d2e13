/*
 * This code runs between clone and exec and shares memory with its parent. So it makes only system
 * calls: it allocates no memory, formats no text, and uses no locks and no errno. A test checks
 * that this object file calls only functions of netif.c, which obeys the same rule.
 *
 * An image may contain any symbolic link. So this code never joins paths: the kernel resolves each
 * target below the new root (RESOLVE_IN_ROOT).
 */
#include "process/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "base/compat.h"
#include "base/raw.h"
#include "process/netlink.h"

#define AT_EMPTY_PATH_ 0x1000
#define AT_RECURSIVE_ 0x8000

struct walker {
	const struct plan *plan;
	/* A copy of plan->tree, to which the child adds descriptors that it opens itself. The
	 * parent shares the plan, and these descriptors mean nothing in the parent, so the child
	 * must not write them into the plan. */
	int tree[PLAN_TREES_MAX];
	int root;          /* O_PATH of the new root */
	int target;        /* O_PATH of the current mount target */
	int device_report; /* socket to which /dev/fuse is sent */
	/* the directory that the last STEP_DIR opened; if the next STEP_DIR or STEP_FILE has to
	 * make its directory or file, it does so in this directory */
	int parent;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		RAW1(SYS_close, *fd);
	*fd = -1;
}

static long open_how(long dir, const char *path, unsigned long flags, unsigned long resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };
	unsigned tries = 0;
	long fd;

	do
		fd = RAW4(SYS_openat2, dir, path, &how, sizeof(how));
	while (fd == -EAGAIN && ++tries < OPENAT2_TRIES_MAX); /* see base/compat.h */
	return fd;
}

static long in_root(const struct walker *w, const char *path, unsigned long flags)
{
	return open_how(w->root, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static long set_attr(int fd, unsigned long set, unsigned recursive)
{
	/* The tree is private: if the host later makes a mount below the source of this tree, that
	 * mount must not appear in the tree, because it would lack these attributes. */
	struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	return RAW5(SYS_mount_setattr, fd, "", AT_EMPTY_PATH_ | recursive, &attr, sizeof(attr));
}

static long clone_tree(struct walker *w, const struct step *s)
{
	struct statx st;
	long fd, r;

	fd = RAW3(SYS_open_tree, AT_FDCWD, s->path,
		  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE_ | AT_SYMLINK_NOFOLLOW);
	if (fd < 0)
		return fd;
	w->tree[s->tree] = (int)fd;
	r = RAW5(SYS_statx, fd, "", AT_EMPTY_PATH_, STATX_INO, &st);
	if (r < 0)
		return r;
	if (!s->ino)
		return set_attr((int)fd, s->flags, AT_RECURSIVE_);
	/* the parent has checked the file at this path, and only that file may be mounted */
	if (st.stx_ino != s->ino ||
	    (((uint64_t)st.stx_dev_major << 32) | st.stx_dev_minor) != s->dev)
		return -ESTALE;
	return set_attr((int)fd, s->flags, AT_RECURSIVE_);
}

static long stage(const struct step *s)
{
	long r = RAW5(SYS_mount, "tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, s->data);

	return r < 0 ? r : RAW1(SYS_chdir, "/proc");
}

/* Makes an empty file or directory, unless an earlier step has already made it. */
static long make_stub(const struct step *s)
{
	unsigned mode = s->mode & 07777;
	long r;

	if (S_ISDIR(s->mode)) {
		r = RAW3(SYS_mkdirat, AT_FDCWD, s->path, mode);
	} else {
		r = RAW4(SYS_openat, AT_FDCWD, s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			 mode);
		if (r >= 0)
			r = RAW1(SYS_close, r);
	}
	if (r == -EEXIST)
		return 0;
	return r < 0 ? r : RAW3(SYS_fchmodat, AT_FDCWD, s->path, mode);
}

static long make_dir(const struct walker *w, const struct step *s)
{
	long r = RAW3(SYS_mkdirat, w->parent, s->text, s->mode);

	if (r < 0 || !(s->mode & S_ISVTX))
		return r;
	/* all users must be able to write to a sticky directory; we set its mode again, because
	 * mkdirat() obeys the umask */
	return RAW3(SYS_fchmodat, w->parent, s->text, s->mode);
}

static long ensure(struct walker *w, const struct step *s, int is_dir)
{
	const unsigned long how =
		O_PATH | (is_dir ? O_DIRECTORY : 0u) | (s->flags & WAY_NO_LINK ? O_NOFOLLOW : 0u);
	long fd = in_root(w, s->path, how);
	long r;

	if (fd == -ENOENT && w->parent >= 0) {
		if (is_dir) {
			r = make_dir(w, s);
		} else {
			r = RAW4(SYS_openat, w->parent, s->text,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, s->mode);
			if (r >= 0)
				r = RAW1(SYS_close, r);
		}
		if (r < 0 && r != -EEXIST)
			return r;
		fd = in_root(w, s->path, how);
		if (fd == -ENOENT && s->flags & WAY_REPLACE) {
			/* replace a dangling link in our writable layer */
			RAW3(SYS_unlinkat, w->parent, s->text, 0);
			r = RAW4(SYS_openat, w->parent, s->text,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, s->mode);
			if (r >= 0)
				RAW1(SYS_close, r);
			fd = in_root(w, s->path, O_PATH);
		}
	}
	if (fd < 0)
		return fd;
	close_fd(&w->parent);
	w->parent = (int)fd;
	return 0;
}

static long retarget(struct walker *w, const char *path)
{
	long fd = in_root(w, path, O_PATH);

	if (fd < 0)
		return fd;
	close_fd(&w->target);
	w->target = (int)fd;
	return 0;
}

/* Returns true if FD is not in a read-only mount. */
static int is_writable(long fd)
{
	struct statfs fs;

	return RAW2(SYS_fstatfs, fd, &fs) >= 0 && !(fs.f_flags & ST_RDONLY);
}

/* Returns true if MOUNT is the id of one of our own mounts. Pid 1 and the deputy trust our own
 * mounts. */
static int is_in_ours(const struct walker *w, uint64_t mount)
{
	static const char *const ours[] = { "/proc", "/dev", "/dev/pts", "/sys", "/.msb" };
	int found = 0;

	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		long fd = in_root(w, ours[i], O_PATH);
		struct statx st;

		/* if we cannot compare the ids, we answer true, to be safe */
		found |= fd < 0 || RAW5(SYS_statx, fd, "", AT_EMPTY_PATH_, STATX_MNT_ID, &st) < 0 ||
			 st.stx_mnt_id == mount;
		if (fd >= 0)
			RAW1(SYS_close, fd);
	}
	return found;
}

/* Opens a path below a volume. No link is followed, because another sandbox that can write to the
 * volume may have made the link. */
static long open_in_volume(const struct walker *w, const struct step *s)
{
	long volume = in_root(w, s->data, O_PATH | O_DIRECTORY);
	long fd = volume < 0 ? volume
			     : open_how(volume, s->text, O_PATH,
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	if (volume >= 0)
		RAW1(SYS_close, volume);
	return fd;
}

/* Checks whether a volume may be mounted at FD. A link in the image may lead to the root or to one
 * of our own mounts. Such a place is refused, because a mount on it would cover what we need. If
 * the step has flags, the place must also be writable. */
static long check_place(const struct walker *w, const struct step *s, long fd, int linked)
{
	const unsigned wanted = STATX_INO | STATX_MNT_ID;
	struct statx root, place;
	long r = RAW5(SYS_statx, fd, "", AT_EMPTY_PATH_, wanted, &place);

	r = r < 0 ? r : RAW5(SYS_statx, w->root, "", AT_EMPTY_PATH_, wanted, &root);
	if (r < 0)
		return r;
	if (place.stx_ino == root.stx_ino && place.stx_mnt_id == root.stx_mnt_id)
		return -EBUSY;
	if (linked && is_in_ours(w, place.stx_mnt_id))
		return -EBUSY;
	return s->flags && !is_writable(fd) ? -EROFS : 0;
}

/* Checks the place and keeps its descriptor as the target. The path cannot be used again, because
 * another sandbox may change it at any time. */
static long take_place(struct walker *w, const struct step *s)
{
	long fd =
		s->text ? open_in_volume(w, s)
			: open_how(w->root, s->path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	int linked = fd == -ELOOP && !s->text;

	if (linked)
		fd = in_root(w, s->path, O_PATH);
	if (fd < 0)
		return fd;
	close_fd(&w->target);
	w->target = (int)fd;
	return check_place(w, s, fd, linked);
}

static long mount_fs(struct walker *w, const struct step *s)
{
	long r = RAW1(SYS_fchdir, w->target);

	if (r >= 0)
		r = RAW5(SYS_mount, s->text, ".", s->text, s->flags, s->data);
	return r < 0 ? r : retarget(w, s->path);
}

/* Covers a directory with a mount. Enters only the parent directory, because we may not be allowed
 * to enter the directory itself. If we cannot reach the directory, we leave it uncovered: the
 * payload has no more rights than we have, so it cannot reach the directory either. */
static long cover(struct walker *w, const struct step *s)
{
	long r = retarget(w, s->path);

	r = r < 0 ? r : RAW1(SYS_fchdir, w->target);
	r = r < 0 ? r
		  : RAW5(SYS_mount, "tmpfs", s->text, "tmpfs",
			 MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=4k");
	return r == -EACCES || r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static long move_tree(int tree, int dir, const char *path)
{
	return RAW5(SYS_move_mount, tree, "", dir, path,
		    MOVE_MOUNT_F_EMPTY_PATH | (path[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH));
}

static long attach_node(struct walker *w, const struct step *s)
{
	long fd =
		RAW4(SYS_openat, w->target, s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return fd;
	RAW1(SYS_close, fd);
	return move_tree(w->tree[s->tree], w->target, s->path);
}

static long write_file(struct walker *w, const struct step *s)
{
	long fd = RAW4(SYS_openat, w->target, s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       s->mode);
	size_t done = 0;
	long r = 0;

	if (fd < 0)
		return fd;
	while (done < s->text_n) {
		r = RAW3(SYS_write, fd, s->text + done, s->text_n - done);
		if (r < 0)
			break;
		done += (size_t)r;
	}
	RAW1(SYS_close, fd);
	return r < 0 ? r : 0;
}

static long source(struct walker *w, const struct step *s)
{
	long fd = RAW3(SYS_open_tree, w->target, s->path,
		       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | s->flags);

	if (fd < 0)
		return fd;
	w->tree[s->tree] = (int)fd;
	return 0;
}

static long set_owner(const struct walker *w, const struct step *s)
{
	long fd = in_root(w, s->path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	long r;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	r = RAW5(SYS_fchownat, fd, "", s->uid, s->gid, AT_EMPTY_PATH_);
	if (r >= 0)
		r = RAW1(SYS_fchdir, fd);
	if (r >= 0)
		r = RAW3(SYS_fchmodat, AT_FDCWD, ".", s->mode);
	RAW1(SYS_close, fd);
	return r;
}

static long pivot(struct walker *w)
{
	long r = RAW1(SYS_fchdir, w->root);

	if (r >= 0)
		r = RAW2(SYS_pivot_root, ".", ".");
	if (r >= 0)
		r = RAW2(SYS_umount2, ".", MNT_DETACH);
	return r < 0 ? r : RAW1(SYS_chdir, "/");
}

static long open_device(struct walker *w, const struct step *s)
{
	long fd = RAW4(SYS_openat, AT_FDCWD, s->path, O_RDWR | O_CLOEXEC, 0);
	long r;

	if (fd < 0)
		return fd;
	w->device_report = (int)s->mode;
	r = RAW3(SYS_dup3, fd, s->fd, O_CLOEXEC);
	RAW1(SYS_close, fd);
	return r < 0 ? r : 0;
}

/* Mounts the device and then sends it to fuse-overlayfs, because the device cannot be read before
 * the mount. Then closes our copy of the descriptor: while a copy is open, the kernel does not
 * notice that fuse-overlayfs has ended. */
static long mount_fuse(const struct walker *w, const struct step *s)
{
	long r = RAW5(SYS_mount, "fuse-overlayfs", s->path, "fuse", s->flags, s->data);

	r = r < 0 ? r : netif_send_descriptor(w->device_report, s->fd);
	RAW1(SYS_close, s->fd);
	return r;
}

static long confine(const struct step *s)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	unsigned long keep = s->flags;
	long r = RAW2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);

	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted = data[i].effective = (unsigned)(keep >> (32 * i));
		data[i].inheritable = 0;
	}
	/* with no_new_privs a program that root executes gets no more capabilities than we have */
	r = r < 0 ? r : RAW5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	r = r < 0 ? r : RAW2(SYS_capset, &head, data);
	return r < 0 ? r : RAW3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, s->filter);
}

static long execute(const struct step *s)
{
	/* so `ps` shows only this name, without a path or arguments */
	static const char *const guest[] = { "cordon-guest", NULL };
	static const char *const none[] = { NULL };

	return RAW5(SYS_execveat, s->fd, "", s->argv ? s->argv : guest, s->envp ? s->envp : none,
		    AT_EMPTY_PATH_);
}

static long apply(struct walker *w, const struct step *s)
{
	long r;

	switch (s->op) {
	case STEP_CLONE_TREE:
		return clone_tree(w, s);
	case STEP_STAGE:
		return stage(s);
	case STEP_MKDIR:
		return RAW3(SYS_mkdirat, AT_FDCWD, s->path, s->mode);
	case STEP_ATTACH:
		return move_tree(w->tree[s->tree], AT_FDCWD, s->path);
	case STEP_STUB:
		return make_stub(s);
	case STEP_UNITE:
	case STEP_OVERLAY:
		return RAW5(SYS_mount, "overlay", s->path, "overlay", s->flags, s->data);
	case STEP_DEVICE:
		return open_device(w, s);
	case STEP_FUSE:
		return mount_fuse(w, s);
	case STEP_ROOT:
		r = RAW4(SYS_openat, AT_FDCWD, s->path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		w->root = (int)r;
		return r < 0 ? r : 0;
	case STEP_DIR:
		return ensure(w, s, 1);
	case STEP_FILE:
		return ensure(w, s, 0);
	case STEP_PLACE:
		return take_place(w, s);
	case STEP_TARGET:
		return retarget(w, s->path);
	case STEP_MOUNT:
		return mount_fs(w, s);
	case STEP_COVER:
		return cover(w, s);
	case STEP_MOVE:
		return move_tree(w->tree[s->tree], w->target, "");
	case STEP_NODE:
		return attach_node(w, s);
	case STEP_LINK:
		return RAW3(SYS_symlinkat, s->text, w->target, s->path);
	case STEP_SUBDIR:
		return RAW3(SYS_mkdirat, w->target, s->path, s->mode);
	case STEP_WRITE:
		return write_file(w, s);
	case STEP_SOURCE:
		return source(w, s);
	case STEP_ATTR:
		return set_attr(w->target, s->flags, 0);
	case STEP_OWNER:
		return set_owner(w, s);
	case STEP_HOSTNAME:
		return RAW2(SYS_sethostname, s->text, s->text_n);
	case STEP_LOOPBACK:
		return netif_loopback();
	case STEP_SYSCTL:
		netif_sysctl(s->path, s->text, s->text_n);
		return 0;
	case STEP_NETIF:
		return netif_run_child(s->netif);
	case STEP_PIVOT:
		return pivot(w);
	case STEP_GROUPS:
		return RAW2(SYS_setgroups, 0, NULL);
	case STEP_IDS:
		r = RAW3(SYS_setresgid, s->gid, s->gid, s->gid);
		return r < 0 ? r : RAW3(SYS_setresuid, s->uid, s->uid, s->uid);
	case STEP_KEEP:
		r = RAW3(SYS_dup3, s->tree >= 0 ? w->tree[s->tree] : s->fd, s->mode, 0);
		return r < 0 ? r : 0;
	case STEP_CONFINE:
		return confine(s);
	case STEP_EXEC:
		return execute(s);
	case STEP_OP_COUNT:
		break;
	}
	return -ENOSYS;
}

static long await_word(int go)
{
	char byte;
	long r = RAW3(SYS_read, go, &byte, 1);

	return r == 1 ? 0 : r < 0 ? r : -EPIPE;
}

static _Noreturn void fail(struct child_args *a, int step, long r)
{
	a->report.step = step;
	a->report.err = (int)-r;
	raw_exit(1);
}

static void tell_of_overlay(struct child_args *a)
{
	__atomic_store_n(&a->overlay_pending, 0, __ATOMIC_RELEASE);
	RAW3(SYS_futex, &a->overlay_pending, FUTEX_WAKE, 1);
}

void child_run(void *arg)
{
	struct child_args *a = arg;
	struct walker w;
	long r;

	RAW1(SYS_close, a->parents_end);
	if ((r = RAW1(SYS_unshare, a->namespaces)) < 0)
		fail(a, CHILD_NAMESPACES, r);
	if ((r = await_word(a->go)) < 0)
		fail(a, CHILD_WAIT, r);
	w.plan = a->plan;
	w.root = w.target = w.parent = w.device_report = -1;
	for (size_t i = 0; i < a->plan->n_trees; i++)
		w.tree[i] = a->plan->tree[i];
	for (size_t i = 0; i < a->plan->n_steps; i++) {
		if ((r = apply(&w, &a->plan->step[i])) < 0)
			fail(a, (int)i, r);
		if (a->plan->step[i].op == STEP_OVERLAY)
			tell_of_overlay(a);
	}
	raw_exit(1); /* never reached: every plan ends with STEP_EXEC */
}
