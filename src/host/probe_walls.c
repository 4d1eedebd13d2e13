/* Probes of the things that the process engine needs for its walls: namespaces, ranges of ids,
 * mounts and control groups. */
#include "host/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/erase.h"
#include "base/io.h"
#include "base/program.h"
#include "base/spawn.h"
#include "base/str.h"
#include "host/container.h"
#include "host/hierarchy.h"
#include "host/idmap.h"
#include "host/subid.h"
#include "host/trial.h"

#define RANGE_IDS 65536 /* how many ids a sandbox maps */
#define LINE_BYTES 64

/* --- user namespaces -------------------------------------------------------------------------- */

/* All texts are made before the fork, because the child must not allocate. */
struct ns_trial {
	const char *dir;
	char uid_map[LINE_BYTES], gid_map[LINE_BYTES];
};

static void ns_trial_init(struct ns_trial *t, const char *dir)
{
	t->dir = dir;
	snprintf(t->uid_map, sizeof(t->uid_map), "0 %u 1", geteuid());
	snprintf(t->gid_map, sizeof(t->gid_map), "0 %u 1", getegid());
}

static int map_write(const char *path, const char *line)
{
	int r = io_write_file(AT_FDCWD, path, line);

	errno = -r;
	return r;
}

static const char *enter_user_namespace(const struct ns_trial *t)
{
	if (unshare(CLONE_NEWUSER) < 0)
		return "create user namespace";
	if (map_write("/proc/self/setgroups", "deny") < 0 ||
	    map_write("/proc/self/uid_map", t->uid_map) < 0 ||
	    map_write("/proc/self/gid_map", t->gid_map) < 0)
		return "write the id map of a user namespace";
	return NULL;
}

static const char *try_namespaces(const void *arg)
{
	const char *step = enter_user_namespace(arg);

	if (step)
		return step;
	/* this fails under Ubuntu's AppArmor rule, which allows a user namespace but no capability
	 * in it */
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
		    CLONE_NEWNET) < 0)
		return "create namespaces inside a user namespace";
	/* Podman's filter allows namespaces, but refuses sethostname() without capabilities */
	if (sethostname("sandbox", strlen("sandbox")) < 0)
		return "set the host name of a namespace";
	if (unshare(CLONE_NEWUSER) < 0)
		return "create a nested user namespace";
	return NULL;
}

/* Reads a number from a file of /proc/sys. Returns 0 if the number is 0, 1 if it is any other
 * number, or -1 if the setting does not exist. */
static int setting(const char *path)
{
	AUTO_BUF text = BUF_INIT(LINE_BYTES);
	struct str s;
	uint64_t v;

	if (io_read_file(AT_FDCWD, path, &text) < 0)
		return -1;
	s = (struct str){ buf_str(&text), text.n };
	if (s.n > 0 && s.p[s.n - 1] == '\n')
		s.n--;
	return parse_u64_str(s, 0, UINT64_MAX, &v) < 0 ? -1 : v != 0;
}

static void name_forbidding_setting(struct fact *f)
{
	if (setting("/proc/sys/user/max_user_namespaces") == 0)
		fact_fix(f, "sysctl user.max_user_namespaces=15000");
	else if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		fact_fix(f, "sysctl kernel.unprivileged_userns_clone=1");
	else if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		fact_fix(f, "install cordon's AppArmor profile, or: "
			    "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
	else if (container_is_filtered())
		fact_fix(f, "%s", container_advice(CONTAINER_NAMESPACES));
	else if (f->sys == ENOSPC)
		fact_fix(f, "raise user.max_user_namespaces, or run cordon in fewer nested "
			    "namespaces");
}

void probe_user_namespace(const char *dir, struct fact *f)
{
	struct ns_trial t;
	struct trial result;
	int r;

	ns_trial_init(&t, dir);
	r = trial_run(try_namespaces, &t, &result);
	if (r < 0) {
		fact_no(f, -r, "start a child");
	} else if (result.step) {
		fact_no(f, result.sys, "%s", result.step);
		name_forbidding_setting(f);
	} else {
		fact_yes(f, "usable, nested too");
	}
}

/* --- a range of ids --------------------------------------------------------------------------- */

static int run_map_program(const char *program, pid_t pid, uint32_t own, struct subid_range range)
{
	char pid_text[16], own_text[16], start[16], count[16];
	const char *argv[] = { program, pid_text, "0", own_text, "1", "1", start, count, NULL };
	struct child child;
	struct err e = { 0 }; /* every failure counts as a refusal */
	int status;

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	snprintf(own_text, sizeof(own_text), "%u", own);
	snprintf(start, sizeof(start), "%u", range.start);
	snprintf(count, sizeof(count), "%u", RANGE_IDS);
	return spawn_path(argv, &child, &e) == 0 && child_wait(&child, &status) == 0 ? status : -1;
}

static void try_granted_range(struct fact *f)
{
	struct subid s;
	struct err e = { 0 };
	pid_t pid;
	int r;

	if (subid_find(geteuid(), RANGE_IDS, &s, &e) < 0) {
		fact_no(f, 0, "%s", e.msg);
		if (e.hint)
			fact_fix(f, "%s", e.hint);
		return;
	}
	r = trial_holder_start(&pid);
	if (r < 0) {
		fact_no(f, -r, "create user namespace");
		return;
	}
	if (run_map_program("newuidmap", pid, geteuid(), s.uid) != 0)
		fact_no(f, 0, "'%s' refused the range from %u", s.newuidmap, s.uid.start);
	else if (run_map_program("newgidmap", pid, getegid(), s.gid) != 0)
		fact_no(f, 0, "'%s' refused the range from %u", s.newgidmap, s.gid.start);
	else
		fact_yes(f, "uids from %u, gids from %u, by newuidmap", s.uid.start, s.gid.start);
	trial_holder_end(pid);
}

void probe_subids(const char *dir, struct fact *f)
{
	struct idmap map;
	struct idmap_line run;
	int r;

	if (geteuid() != 0) {
		try_granted_range(f);
		return;
	}
	r = idmap_read("/proc/self/uid_map", &map);
	if (r < 0)
		fact_no(f, -r, "read '/proc/self/uid_map'");
	else if (idmap_longest_run(&map, 1, &run) < 0 || run.count < RANGE_IDS)
		fact_no(f, 0, "root here has only %u consecutive ids to give away",
			idmap_longest_run(&map, 1, &run) < 0 ? 0 : run.count);
	else
		fact_yes(f, "%u ids from %u, written directly", run.count, run.inside);
}

/* --- mounts ----------------------------------------------------------------------------------- */

static const char *try_mount_api(const void *arg)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };
	const char *step = enter_user_namespace(arg);
	int fs, tree, copy;

	if (step)
		return step;
	if (unshare(CLONE_NEWNS) < 0)
		return "create mount namespace";
	fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		return "fsopen";
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return "fsconfig";
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (tree < 0)
		return "fsmount";
	copy = sys_open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (copy < 0)
		return "open_tree";
	if (sys_mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &ro) < 0)
		return "mount_setattr";
	return NULL;
}

/* Makes an overlay of the directories lower, upper and work in the current directory. Returns the
 * step that failed, or NULL. */
static const char *mount_overlay(void)
{
	int fs = sys_fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0)
		return "open file system type 'overlay'";
	if (sys_fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", "lower", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", "upper", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "workdir", "work", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return "make an overlay in a user namespace";
	return sys_fsmount(fs, FSMOUNT_CLOEXEC, 0) < 0 ? "mount an overlay" : NULL;
}

/* In a private mount namespace, mounts a tmpfs over the directory of the trial, and makes an
 * overlay of three directories of the tmpfs. */
static const char *try_overlay(const void *arg)
{
	const struct ns_trial *t = arg;
	const char *step = enter_user_namespace(t);
	int fs, tree;

	if (step)
		return step;
	if (unshare(CLONE_NEWNS) < 0)
		return "create mount namespace";
	fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return "make a tmpfs";
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (tree < 0 || sys_move_mount(tree, "", AT_FDCWD, t->dir, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return "mount a tmpfs";
	if (chdir(t->dir) < 0 || mkdir("lower", 0700) < 0 || mkdir("upper", 0700) < 0 ||
	    mkdir("work", 0700) < 0)
		return "make directories in a tmpfs";
	return mount_overlay();
}

static const char *try_overlay_on_disk(const void *arg)
{
	const struct ns_trial *t = arg;
	const char *step = enter_user_namespace(t);

	if (step)
		return step;
	if (unshare(CLONE_NEWNS) < 0)
		return "create mount namespace";
	return chdir(t->dir) < 0 ? "enter a directory of our own" : mount_overlay();
}

static void run_ns_trial(trial_fn *fn, const char *dir, struct fact *f)
{
	struct ns_trial t;
	struct trial result;
	int r;

	ns_trial_init(&t, dir);
	r = trial_run(fn, &t, &result);
	if (r < 0)
		fact_no(f, -r, "start a child");
	else if (result.step)
		fact_no(f, result.sys, "%s", result.step);
	else
		fact_yes(f, "usable");
	if (f->sys == EACCES)
		fact_fix(f, "%s", container_advice(CONTAINER_MOUNTS));
	else if (f->sys == EPERM && container_is_filtered())
		fact_fix(f, "%s", container_advice(CONTAINER_NAMESPACES));
}

void probe_overlay(const char *dir, struct fact *f)
{
	run_ns_trial(try_overlay, dir, f);
	if (f->sys == ENODEV)
		fact_fix(f, "modprobe overlay");
}

void probe_overlay_on_disk(const char *dir, struct fact *f)
{
	static const char *const names[] = { "lower", "upper", "work" };
	AUTO_FREE char *own = xasprintf("%s/.probe-%d", dir, getpid());
	AUTO_FREE char *name = xasprintf(".probe-%d", getpid());
	AUTO_FD parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD made = -1;

	if (parent < 0 || mkdirat(parent, name, 0700) < 0) {
		fact_no(f, errno, "make a directory in '%.*s'", FACT_TEXT_BYTES / 2, dir);
		return;
	}
	made = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		IGNORE(mkdirat(made, names[i], 0700)); /* if this fails, the mount fails too */
	run_ns_trial(try_overlay_on_disk, own, f);
	IGNORE(erase_tree(parent, name));
}

void probe_fuse_overlayfs(const char *dir, struct fact *f)
{
	AUTO_FREE char *program = program_of_system("fuse-overlayfs");
	AUTO_FD device = -1;

	if (!program) {
		fact_no(f, 0, "program 'fuse-overlayfs' not found");
		fact_fix(f, "apt install fuse-overlayfs");
		return;
	}
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0) {
		fact_no(f, errno, "open '/dev/fuse'");
		if (f->sys == ENOENT)
			fact_fix(f, "modprobe fuse; in a container: %s",
				 container_advice(CONTAINER_FUSE));
		else
			fact_fix(f, "chmod 666 /dev/fuse, as distributions have it");
		return;
	}
	fact_yes(f, "'%s'", program);
}

void probe_mount_api(const char *dir, struct fact *f)
{
	run_ns_trial(try_mount_api, dir, f);
	if (f->sys == ENOSYS)
		fact_fix(f, "use a kernel that has them (5.12 and later)");
	if (f->yes && container_has_covered_proc()) {
		fact_no(f, EPERM, "mount a new '/proc'");
		fact_fix(f, "%s", container_advice(CONTAINER_PROC));
	}
}

static const char *try_idmap(const char *dir, pid_t holder)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	char path[LINE_BYTES];
	AUTO_FD ns = -1;
	AUTO_FD tree = -1;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", holder);
	if (map_write(path, "0 1 1") < 0)
		return "write the id map of a user namespace";
	snprintf(path, sizeof(path), "/proc/%d/gid_map", holder);
	if (map_write(path, "0 1 1") < 0)
		return "write the id map of a user namespace";
	snprintf(path, sizeof(path), "/proc/%d/ns/user", holder);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return "open a user namespace";
	tree = sys_open_tree(AT_FDCWD, dir, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return "open_tree";
	attr.userns_fd = (unsigned)ns;
	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) < 0 ? "mount_setattr" : NULL;
}

void probe_idmapped_mount(const char *dir, struct fact *f)
{
	const char *step;
	pid_t holder;
	int r = trial_holder_start(&holder);

	if (r < 0) {
		fact_no(f, -r, "create user namespace");
		return;
	}
	step = try_idmap(dir, holder);
	if (step)
		fact_no(f, errno, "%s", step);
	else
		fact_yes(f, "usable on '%.*s'", FACT_TEXT_BYTES - 32, dir);
	trial_holder_end(holder);
}

/* --- cgroups ---------------------------------------------------------------------------------- */

/* For each controller and each version of cgroups: a file that a child group has if the
 * controller works in it. */
static const char *const limit_file[CONTROLLER_COUNT][3] = {
	[CONTROLLER_MEMORY] = { NULL, "memory.limit_in_bytes", "memory.max" },
	[CONTROLLER_CPU] = { NULL, "cpu.cfs_quota_us", "cpu.max" },
	[CONTROLLER_PIDS] = { NULL, "pids.max", "pids.max" },
};

#define FIX_DELEGATE                                                                             \
	"log in by ssh or on a console, not by su; or as root: loginctl enable-linger USER; or " \
	"in a "                                                                                  \
	"login: systemd-run --user --scope -p Delegate=yes -- COMMAND; or run as root"

/* Makes a child of the group P for a moment. Sets *F to yes if the child has the file FILE. In
 * version 2 a child has a controller only if its parent passes the controller on
 * (cgroup.subtree_control), and a parent that has processes usually cannot. The engine would move
 * the processes away first, but the probe does not. So in version 2 it is enough that we may write
 * to the parent's cgroup.subtree_control. */
static void try_child(const struct hierarchy_place *p, const char *file, struct fact *f)
{
	AUTO_FREE char *dir = xasprintf("%s/cordon-probe-%d", p->dir, getpid());
	AUTO_FREE char *limit = xasprintf("%s/%s", dir, file);
	AUTO_FREE char *control = xasprintf("%s/cgroup.subtree_control", p->dir);
	int has_limit, may_hand_down;

	if (mkdir(dir, 0755) < 0) {
		fact_no(f, errno, "make a cgroup in '%.*s'", FACT_TEXT_BYTES / 2, p->dir);
		fact_fix(f, "%s",
			 f->sys == EROFS ? container_advice(CONTAINER_CGROUPS) : FIX_DELEGATE);
		return;
	}
	has_limit = faccessat(AT_FDCWD, limit, W_OK, AT_EACCESS) == 0;
	may_hand_down = p->version == 2 && faccessat(AT_FDCWD, control, W_OK, AT_EACCESS) == 0;
	if (rmdir(dir) < 0)
		fact_no(f, errno, "remove '%.*s'", FACT_TEXT_BYTES / 2, dir);
	else if (has_limit || may_hand_down)
		fact_yes(f, "cgroup version %u, '%.*s'", p->version, FACT_TEXT_BYTES / 2, p->dir);
	else
		fact_no(f, 0, "a new cgroup in '%.*s' has no %s", FACT_TEXT_BYTES / 2, p->dir,
			file);
}

static void probe_controller(enum controller c, struct fact *f)
{
	struct hierarchy_layout l;
	int r = hierarchy_find(&l);

	if (r < 0)
		fact_no(f, -r, "read '/proc/self/cgroup'");
	else if (l.controller[c].version == 0 && l.unified.version != 0) {
		fact_no(f, 0, "the cgroup '%.*s' is not given the %s controller",
			FACT_TEXT_BYTES / 2, l.unified.dir, controller_name(c));
		fact_fix(f, FIX_DELEGATE);
	} else if (l.controller[c].version == 0)
		fact_no(f, 0, "no cgroup file system with the %s controller is mounted",
			controller_name(c));
	else
		try_child(&l.controller[c], limit_file[c][l.controller[c].version], f);
}

void probe_cgroup_memory(const char *dir, struct fact *f)
{
	probe_controller(CONTROLLER_MEMORY, f);
}

void probe_cgroup_cpu(const char *dir, struct fact *f)
{
	probe_controller(CONTROLLER_CPU, f);
}

void probe_cgroup_pids(const char *dir, struct fact *f)
{
	probe_controller(CONTROLLER_PIDS, f);
}

void probe_cgroup_kill(const char *dir, struct fact *f)
{
	struct hierarchy_place p;
	struct hierarchy_layout l;
	int r = hierarchy_find(&l);

	if (r < 0) {
		fact_no(f, -r, "read '/proc/self/cgroup'");
		return;
	}
	if (l.unified.version == 0) {
		fact_no(f, 0, "no version 2 cgroup file system is mounted");
		return;
	}
	p = l.unified;
	/* The group has version 2, but cgroup.kill needs no controller, so the parent's
	 * cgroup.subtree_control does not matter. With the number 1, try_child() ignores that file
	 * and looks only for cgroup.kill */
	p.version = 1;
	try_child(&p, "cgroup.kill", f);
	if (f->yes)
		fact_yes(f, "in '%.*s'", FACT_TEXT_BYTES - 16, l.unified.dir);
}
