/*
 * What pid 1 does before the first command. When pid 1 begins, it is alone in the sandbox, is root
 * of the outer user namespace, and has every capability over that namespace. pid 1 makes the
 * payload's namespace, then receives the BOOT message, writes the id maps, gives up capabilities
 * and becomes non-dumpable. The id of pid 1 owns the payload's namespace, so pid 1 may later act on
 * the processes in it. Commands run only after all these steps. Only the seccomp filter of pid 1
 * itself may come later: installing it takes 40 us, and no client should wait for this. So pid 1
 * installs the filter while the first command starts, or earlier if no client waits. The payload
 * runs no code before the filter is installed.
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/fdpass.h"
#include "base/holder.h"
#include "base/io.h"
#include "guest/seccomp.h"
#include "wire/group_view.h"

#define CAP_BIT(c) (1ull << (c))

static int receive_boot(struct guest *g, int *fds, unsigned *ret_n_fds, struct err *e)
{
	char chunk[8192];

	buf_init(&g->boot_body, FRAME_BODY_MAX_BYTES + FRAME_HEADER_BYTES);
	*ret_n_fds = 0;
	for (;;) {
		struct str in = { g->boot_body.p, g->boot_body.n };
		struct frame f;
		int got[FDPASS_MAX];
		unsigned n_got;
		ssize_t n;
		int r = frame_next(&in, &f);

		if (r < 0 || (r > 0 && f.type != FRAME_BOOT))
			return err_set(e, ERR_PROTOCOL, "bad boot frame");
		if (r > 0)
			return boot_decode(f.body, &g->boot) < 0
				       ? err_set(e, ERR_PROTOCOL, "bad boot message")
				       : 0;
		n = fdpass_recv(g->channel, chunk, sizeof(chunk), got, FDPASS_MAX, &n_got);
		if (n <= 0)
			return err_sys(e, n < 0 ? (int)-n : EPIPE, "read boot message");
		for (unsigned i = 0; i < n_got && *ret_n_fds < FDPASS_MAX; i++)
			fds[(*ret_n_fds)++] = got[i];
		buf_add(&g->boot_body, chunk, (size_t)n);
	}
}

/* Makes sure that pid 1 may make groups in PAYLOAD and put commands into them. Returns false if
 * this is impossible, or if PAYLOAD is -1. If the supervisor runs as an ordinary user, it owns
 * PAYLOAD and cannot give PAYLOAD to the id of pid 1. In this case pid 1 makes PAYLOAD writable for
 * its own group id. The supervisor can still remove what pid 1 makes. PAYLOAD is a mount of its
 * own, so `..` does not lead out of it. PROCS is the file cgroup.procs of the common parent of
 * PAYLOAD and the group of pid 1. To move a process between these two groups, pid 1 needs write
 * access to PROCS. */
static bool enter_group(int payload, int procs)
{
	struct stat st;

	if (payload < 0 || fstat(payload, &st) < 0)
		return false;
	return st.st_uid == geteuid() ||
	       (fchownat(payload, "", (uid_t)-1, getegid(), AT_EMPTY_PATH) == 0 &&
		fchmodat(payload, ".", 0775, 0) == 0 && fchown(procs, (uid_t)-1, getegid()) == 0 &&
		fchmod(procs, 0664) == 0);
}

/* Returns the directory for the groups of commands, or -1. *AT counts the descriptors taken from
 * FDS. */
static int take_group(const struct guest *g, const int *fds, unsigned *at)
{
	int payload = g->boot.born_with_cgroup ? GUEST_GROUP_FD
		      : g->boot.has_cgroup     ? fds[(*at)++]
					       : -1;
	AUTO_FD procs = g->boot.born_with_cgroup ? fds[(*at)++] : -1;

	if (payload == GUEST_GROUP_FD && fcntl(payload, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	if (!enter_group(payload, procs))
		fd_closep(&payload); /* without groups, pid 1 marks commands (guest/scope.h) */
	return payload;
}

/* A view is a read-only mount that shows one of the sandbox's own control groups
 * (wire/group_view.h). Each bit of KINDS stands for a view, and FDS has one detached mount for each
 * bit that is set. Attaches the mounts below /sys/fs/cgroup, and closes FDS. The user may have
 * mounted something else at the paths of the views, so pid 1 follows no link and enters no other
 * mount. If a view cannot be mounted, it is left out. Programs then do not see their limits, but
 * the limits still apply. */
static void show_groups(unsigned kinds, int *fds)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve =
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	AUTO_FD sys = kinds ? open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	for (unsigned i = 0; i < GROUP_VIEW_COUNT; i++) {
		AUTO_FD place = -1;

		if (!(kinds & 1u << i))
			continue;
		place = sys_openat2(sys, group_view_place[i], &how);
		if (place >= 0)
			IGNORE(sys_move_mount(*fds, "", place, "",
					      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
		fd_closep(fds++);
	}
}

/* Joins the sandbox's v1 groups in `cpuacct` and `cpuset`, by their files TASKS. These groups
 * limit nothing, but programs such as Java expect to be in the groups that they see
 * (process/group_view.h). Commands inherit the groups from pid 1. When a process joins a cpuset,
 * the kernel resets the CPUs that the process may use, so we set them again. */
static void join_groups(int *tasks, unsigned n)
{
	cpu_set_t cpus;
	bool know_cpus = n && sched_getaffinity(0, sizeof(cpus), &cpus) == 0;

	for (unsigned i = 0; i < n; i++) {
		/* if this fails, programs do not find their own process in the view of this
		 * group */
		IGNORE(io_write_all(tasks[i], "0", 1));
		fd_closep(&tasks[i]);
	}
	if (know_cpus)
		IGNORE(sched_setaffinity(0, sizeof(cpus), &cpus));
}

/* Takes the descriptors that came with the BOOT message. The descriptors have a fixed order, and
 * the message says which descriptors came. */
static int take_fds(struct guest *g, int *fds, unsigned n, struct err *e)
{
	unsigned want = 1 + g->boot.has_connection + g->boot.has_cgroup + g->boot.born_with_cgroup +
			g->boot.has_oom + g->boot.has_refusals + g->boot.n_task_fds +
			(unsigned)__builtin_popcount(g->boot.group_views) + g->boot.n_group_joins;
	unsigned at = 0;

	if (n != want || g->boot.n_task_fds > EXEC_TASK_FDS_MAX || !g->boot.inner_uid_map ||
	    !g->boot.inner_gid_map)
		return err_set(e, ERR_PROTOCOL, "boot message with %u descriptors, not %u", n,
			       want);
	g->listener = fds[at++];
	g->first_connection = g->boot.has_connection ? fds[at++] : -1;
	scopes_init(&g->scopes, take_group(g, fds, &at), g->boot.switches & SWITCH_WATCHED,
		    &g->walls);
	g->oom_fd = g->boot.has_oom ? fds[at++] : -1;
	if (g->boot.has_refusals) {
		AUTO_FD refusals = fds[at++];

		g->refusals = refusals_map(refusals, false);
	}
	g->walls.n_task_fds = g->boot.n_task_fds;
	for (unsigned i = 0; i < g->boot.n_task_fds; i++)
		g->walls.task_fd[i] = fds[at++];
	show_groups(g->boot.group_views, fds + at);
	join_groups(fds + n - g->boot.n_group_joins, g->boot.n_group_joins);
	return 0;
}

static int write_inner_maps(const struct guest *g, pid_t pid, struct err *e)
{
	char path[64];
	const struct {
		const char *file, *map;
	} maps[] = { { "uid_map", g->boot.inner_uid_map }, { "gid_map", g->boot.inner_gid_map } };
	int r;

	if (g->walls.single_id) {
		snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
		r = io_write_file(AT_FDCWD, path, "deny");
		if (r < 0)
			return err_sys(e, -r, "write '%s'", path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, maps[i].file);
		r = io_write_file(AT_FDCWD, path, maps[i].map);
		if (r < 0)
			return err_sys(e, -r, "write '%s'", path);
	}
	return 0;
}

static int map_inner_namespace(struct guest *g, struct holder *h, struct err *e)
{
	int r = write_inner_maps(g, h->pid, e);

	g->walls.userns = holder_namespace(h);
	if (r == 0 && g->walls.userns < 0)
		r = err_sys(e, -g->walls.userns, "open the payload's user namespace");
	holder_release(h); /* sessions_reap() reaps the holder */
	return r;
}

static int keep_capabilities(uint64_t keep, struct err *e)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].effective = data[0].permitted = (uint32_t)keep;
	return syscall(SYS_capset, &head, data) < 0 ? err_sys(e, errno, "drop capabilities") : 0;
}

/* Returns the capabilities that pid 1 keeps for good. pid 1 needs CHOWN to give a terminal to the
 * user of a command. Without cgroups, a UTS namespace marks the processes of a command
 * (guest/scope.h): pid 1 needs SYS_ADMIN to make this namespace, SYS_PTRACE to see which processes
 * are in it, and KILL to kill them. In a watched sandbox pid 1 needs SYS_PTRACE and DAC_READ_SEARCH
 * to read how much each process wrote. */
static uint64_t needed_capabilities(const struct guest *g)
{
	uint64_t keep = CAP_BIT(CAP_CHOWN);

	if (g->scopes.payload < 0)
		keep |= CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_KILL);
	if (g->boot.switches & SWITCH_WATCHED)
		keep |= CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH);
	return keep;
}

static int start_deputy(struct guest *g, struct err *e)
{
	if (!(g->boot.switches & SWITCH_SHARED))
		return 0;
	if (deputy_start(&g->walls, &g->boot, &g->deputy, e) < 0)
		return -1;
	g->scopes.deputy = g->deputy.pid;
	return 0;
}

/* Lets the deputy begin its work. Returns 0 or -1. A deputy is impossible here (ERR_UNSUPPORTED) if
 * a program outside of cordon already handles system calls by seccomp. Then a sandbox with a
 * writable directory of the host fails, so no such sandbox runs here. Any other sandbox goes on
 * without a deputy: it would need a deputy only if another sandbox could pass it a writable
 * descriptor of a host's file, and no sandbox here has such a descriptor. */
static int engage_deputy(struct guest *g, struct err *e)
{
	if (!g->deputy.pid || deputy_engage(&g->deputy, e) == 0)
		return 0;
	if (e->code != ERR_UNSUPPORTED || g->boot.switches & SWITCH_WRITABLE)
		return -1;
	*e = (struct err){ 0 };
	return 0;
}

static int drop_privileges(const struct guest *g, struct err *e)
{
	/* without this setting, a program that pid 1 executes as root of the namespace would get
	 * all capabilities back. A process that joins the payload's namespace loses the setting, so
	 * in the payload set-user-id programs work as usual */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED) < 0)
		return err_sys(e, errno, "give up root's way to capabilities");
	/* guest_confine() needs SYS_ADMIN to install the filter. Without SYS_ADMIN it would need
	 * no_new_privs, which commands would inherit */
	if (keep_capabilities(needed_capabilities(g) | CAP_BIT(CAP_SYS_ADMIN), e) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, errno, "become non-dumpable");
	return 0;
}

void guest_confine(struct guest *g)
{
	struct sock_fprog program = { guest_filter_len, (struct sock_filter *)guest_filter };
	struct err e;

	if (g->confined)
		return;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ||
	    keep_capabilities(needed_capabilities(g), &e) < 0)
		_exit(1); /* pid 1 must not go on without its filter, so the sandbox ends */
	g->confined = true;
}

/* Returns WANTED, or the hard limit that pid 1 inherited if this limit is lower. No process in
 * the sandbox could raise a hard limit. */
static uint64_t at_most(int resource, uint64_t wanted)
{
	struct rlimit l;

	return getrlimit(resource, &l) == 0 && l.rlim_max < wanted ? l.rlim_max : wanted;
}

static void raise_own_nofile(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		IGNORE(setrlimit(RLIMIT_NOFILE, &l)); /* if that fails, fewer clients fit at once */
	}
}

/* The host allows some users real-time scheduling and negative nice values. Commands keep the first
 * right only if the sandbox was created with the limit RLIMIT_RTPRIO, and the second only with the
 * limit RLIMIT_NICE. */
static void drop_priority_limits(const struct guest *g)
{
	static const int resources[] = { RLIMIT_NICE, RLIMIT_RTPRIO };

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		const struct rlimit none = { 0 };
		bool wanted = false;

		for (size_t k = 0; k < g->boot.n_rlimits; k++)
			wanted |= g->boot.rlimit[k].resource == (uint32_t)resources[i];
		if (!wanted)
			IGNORE(setrlimit(resources[i], &none)); /* lowering a limit cannot fail */
	}
}

int guest_boot(struct guest *g, struct err *e)
{
	/* The holder is a process that keeps the payload's namespace alive (base/holder.h). The
	 * struct is static, because the holder still uses its memory for a moment after
	 * guest_boot() has returned. */
	static struct holder holder;
	int fds[FDPASS_MAX];
	unsigned n_fds = 0;
	/* the holder starts while pid 1 waits for the BOOT message */
	int r = holder_start_within(&holder, getenv(HOLDER_LIMITS));

	if (r < 0)
		return err_sys(e, -r, "create the payload's user namespace");
	if (receive_boot(g, fds, &n_fds, e) < 0 || take_fds(g, fds, n_fds, e) < 0)
		return -1;
	g->walls.filter = seccomp_choose(g->boot.switches);
	g->walls.restricted = g->boot.restricted;
	g->walls.single_id = g->boot.single_id;
	g->walls.nofile_soft = g->boot.nofile_soft;
	g->walls.nofile_hard = g->boot.nofile_hard;
	g->walls.data_limit = at_most(RLIMIT_DATA, g->boot.data_limit);
	g->walls.nproc_limit = at_most(RLIMIT_NPROC, g->boot.nproc_limit);
	g->walls.rlimit = g->boot.rlimit;
	g->walls.n_rlimits = g->boot.n_rlimits;
	raise_own_nofile();
	drop_priority_limits(g);
	if (map_inner_namespace(g, &holder, e) < 0 || start_deputy(g, e) < 0 ||
	    drop_privileges(g, e) < 0 || engage_deputy(g, e) < 0)
		return -1;
	/* set this last, because the kernel clears it when pid 1 changes its ids or capabilities */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(e, errno, "follow the supervisor's death");
	return 0;
}
