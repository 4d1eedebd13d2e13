#include "process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/compat.h"
#include "base/io.h"
#include "base/str.h"
#include "host/hierarchy.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP2_MAGIC 0x63677270
#define CPU_PERIOD_US 100000u
/* Socket buffers get an eighth of the memory limit. With a limit of 512 MiB this is 64 MiB, enough
 * for a dozen connections at full speed. */
#define BUFFERS_PART 8
#define RELEASE_TRIES 400 /* on a busy machine killed processes need a moment to die */
#define RELEASE_RETRY_MS 5
/* How many levels of groups we release. The payload owns its group, so it can make a group in it, a
 * group in that group, and so on. */
#define RELEASE_DEPTH_MAX 8
#define CONTROL_FILE_MAX_BYTES 65536
#define CONTROL_FILE_USUAL_BYTES 512
#define WORDS_MAX_BYTES 512 /* enough for the names of all controllers (about fifteen) */
#define MOVE_PASSES_MAX 8   /* members may fork between two passes, so one pass may miss some */

static const char *const v1_names[] = { "memory", "pids", "cpu" };
static const char *const seen_names[CGROUP_SEEN_COUNT] = { "cpuacct", "cpuset" };

void cgroup_init(struct cgroup *c)
{
	*c = (struct cgroup){ .v2_home = -1,
			      .v2_init = -1,
			      .v2_payload = -1,
			      .v2_enclosed = -1,
			      .v2_helpers = -1,
			      .oom = -1 };
	for (unsigned i = 0; i < CGROUP_V1_MAX; i++)
		c->v1[i] = c->tasks[i] = -1;
	for (unsigned i = 0; i < CGROUP_SEEN_COUNT; i++)
		c->seen[i] = -1;
}

void cgroup_done(struct cgroup *c)
{
	fd_closep(&c->v2_home);
	fd_closep(&c->v2_init);
	fd_closep(&c->v2_payload);
	fd_closep(&c->v2_helpers);
	fd_closep(&c->v2_enclosed);
	fd_closep(&c->oom);
	for (unsigned i = 0; i < CGROUP_SEEN_COUNT; i++)
		fd_closep(&c->seen[i]);
	for (unsigned i = 0; i < CGROUP_V1_MAX; i++) {
		fd_closep(&c->v1[i]);
		fd_closep(&c->tasks[i]);
	}
	c->n_v1 = 0;
}

static bool is_cgroup2(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_MAGIC;
}

static int open_dir(int dirfd, const char *path)
{
	return openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Makes the group NAME unless it exists, and opens it. If we made the group but cannot open it,
 * removes it, because no other code would remove it. Returns a descriptor, or -1. */
static int make_dir(int parent, const char *name)
{
	bool made = mkdirat(parent, name, 0755) == 0;
	int fd = made || errno == EEXIST ? open_dir(parent, name) : -1;

	if (fd < 0 && made)
		IGNORE(unlinkat(parent, name, AT_REMOVEDIR));
	return fd;
}

/* Adds the path of our own v2 group to OUT. If we were moved into the child group
 * HIERARCHY_CALLERS, adds the path of its parent instead. The path is relative to the root of the
 * mount; the root itself has the path "/" or "". */
static void own_v2_path(struct buf *out)
{
	char room[CONTROL_FILE_USUAL_BYTES];
	AUTO_BUF text = BUF_IN(room, CONTROL_FILE_MAX_BYTES);
	struct str rest;

	if (io_read_file(AT_FDCWD, "/proc/self/cgroup", &text) < 0)
		return;
	rest = (struct str){ text.p, text.n };
	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (line.n > 3 && memcmp(line.p, "0::", 3) == 0) {
			line = hierarchy_base((struct str){ line.p + 3, line.n - 3 });
			buf_add(out, line.p, line.n);
		}
	}
}

/* Opens the v2 group in which we make the groups of sandboxes. If root runs cordon, this is the
 * root of the mount. If an ordinary user runs cordon, it is the user's own group. */
static int open_v2_base(void)
{
	static const char *const mounts[] = { CGROUP_ROOT, CGROUP_ROOT "/unified" };
	AUTO_BUF own = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		AUTO_FD fd = open_dir(AT_FDCWD, mounts[i]);

		if (fd < 0 || !is_cgroup2(fd))
			continue;
		if (geteuid() == 0)
			return fd_take(&fd);
		own_v2_path(&own);
		if (own.n > 1)
			return open_dir(fd, buf_str(&own) + 1);
	}
	return -1;
}

static void group_name(const char *id, char out[64])
{
	snprintf(out, 64, "cordon-%s", id);
}

/* Reads the first line of FILE in DIR into OUT. If the file cannot be read, OUT is "". */
static void read_words(int dir, const char *file, char out[WORDS_MAX_BYTES])
{
	AUTO_FD fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, WORDS_MAX_BYTES - 1);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

void cgroup_prepare(struct cgroup *c, const char *id)
{
	char name[64], controllers[WORDS_MAX_BYTES] = "";
	AUTO_FD base = -1;

	cgroup_init(c);
	snprintf(c->id, sizeof(c->id), "%s", id);
	group_name(id, name);
	base = open_v2_base();
	/* if the group exists, a killed supervisor has left it, and its members are dying; release
	 * it before we make a new one */
	if (base >= 0 && faccessat(base, name, F_OK, 0) == 0)
		cgroup_release(id);
	if (base >= 0)
		c->v2_home = make_dir(base, name);
	if (c->v2_home < 0)
		return;
	read_words(base, "cgroup.controllers", controllers);
	c->v2_limits = controllers[0] != '\0';
	c->v2_init =
		c->v2_limits ? make_dir(c->v2_home, "init") : fcntl(c->v2_home, F_DUPFD_CLOEXEC, 0);
}

int cgroup_payload(struct cgroup *c)
{
	if (c->v2_payload < 0 && c->v2_home >= 0)
		c->v2_payload = make_dir(c->v2_home, "payload");
	return c->v2_payload;
}

int cgroup_enclose(struct cgroup *c)
{
	if (c->v2_payload < 0)
		return 0;
	c->v2_enclosed = sys_open_tree(c->v2_payload, "",
				       AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return c->v2_enclosed < 0 ? -errno : 0;
}

static bool set_number(int dir, const char *file, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return io_write_file(dir, file, text) == 0;
}

/* Returns how many microseconds of each period a group with MILLI thousandths of a CPU may run. */
static uint64_t quota_us(uint32_t milli)
{
	return (uint64_t)milli * CPU_PERIOD_US / 1000;
}

static bool set_cpu_v2(int dir, uint32_t milli)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu %u", (unsigned long long)quota_us(milli), CPU_PERIOD_US);
	return io_write_file(dir, "cpu.max", text) == 0;
}

/* Sets the memory limit. Also forbids swap, because the payload could otherwise use swap beyond its
 * memory limit. Kernels without swap accounting have no file memory.swap.max. */
static bool set_memory_v2(int dir, uint64_t bytes)
{
	if (!set_number(dir, "memory.max", bytes))
		return false;
	IGNORE(set_number(dir, "memory.swap.max", 0));
	return true;
}

/* Limits the memory of socket buffers. Version 2 counts this memory towards the memory limit, but
 * version 1 does not. The kernel counts a socket only if this limit was set before the socket was
 * made. Newer kernels may be built without this limit. */
static void set_buffers_v1(int dir, uint64_t memory_bytes)
{
	IGNORE(set_number(dir, "memory.kmem.tcp.limit_in_bytes", memory_bytes / BUFFERS_PART));
}

/* Version 1 has one limit for memory and one for memory + swap, and the first must never be larger
 * than the second. So we try to set the limit for memory first, which works if the limits shrink.
 * If the limits grow, this fails, and we set the limit for memory + swap first. */
static bool set_memory_v1(int dir, uint64_t bytes)
{
	if (!set_number(dir, "memory.limit_in_bytes", bytes)) {
		IGNORE(set_number(dir, "memory.memsw.limit_in_bytes", bytes));
		return set_number(dir, "memory.limit_in_bytes", bytes);
	}
	IGNORE(set_number(dir, "memory.memsw.limit_in_bytes", bytes));
	return true;
}

static void apply_v2(struct cgroup *c, int dir, const struct cgroup_limits *l)
{
	if (l->memory_bytes && set_memory_v2(dir, l->memory_bytes))
		c->enforced[CGROUP_MEMORY] = true;
	if (l->pids && set_number(dir, "pids.max", l->pids))
		c->enforced[CGROUP_PIDS] = true;
	if (l->cpu_milli && set_cpu_v2(dir, l->cpu_milli))
		c->enforced[CGROUP_CPU] = true;
}

/* Sets the limit KIND in the directory DIR of a v1 hierarchy. */
static void apply_v1(struct cgroup *c, int dir, unsigned kind, const struct cgroup_limits *l)
{
	switch (kind) {
	case CGROUP_MEMORY:
		c->enforced[kind] |= l->memory_bytes && set_memory_v1(dir, l->memory_bytes);
		if (l->memory_bytes)
			set_buffers_v1(dir, l->memory_bytes);
		break;
	case CGROUP_PIDS:
		c->enforced[kind] |= l->pids && set_number(dir, "pids.max", l->pids);
		break;
	case CGROUP_CPU:
		c->enforced[kind] |=
			l->cpu_milli && set_number(dir, "cpu.cfs_quota_us", quota_us(l->cpu_milli));
		break;
	}
}

static void limit_v1(struct cgroup *c, unsigned kind, const struct cgroup_limits *l)
{
	char path[128], name[64];
	AUTO_FD root = -1;
	AUTO_FD dir = -1;
	AUTO_FD tasks = -1;

	snprintf(path, sizeof(path), CGROUP_ROOT "/%s", v1_names[kind]);
	root = open_dir(AT_FDCWD, path);
	if (root < 0 || is_cgroup2(root))
		return;
	group_name(c->id, name);
	dir = make_dir(root, name);
	if (dir < 0)
		return;
	tasks = openat(dir, "tasks", O_WRONLY | O_CLOEXEC);
	if (tasks < 0) {
		/* the group is useless, so remove it; the limit then counts as not enforced */
		IGNORE(unlinkat(root, name, AT_REMOVEDIR));
		return;
	}
	apply_v1(c, dir, kind, l);
	if (kind == CGROUP_MEMORY)
		c->oom = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	c->kind[c->n_v1] = kind;
	c->v1[c->n_v1] = fd_take(&dir);
	c->tasks[c->n_v1++] = fd_take(&tasks);
}

/* Gives the group DIR to pid 1. Pid 1 may make groups in DIR and move processes into them, but it
 * may not change the limits of DIR. */
static void delegate(int dir, uid_t owner, gid_t group)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.threads",
					     "cgroup.subtree_control" };

	/* If this fails, pid 1 cannot make a group for each command. It then starts each command in
	 * a UTS namespace, by which it recognizes the command's processes (guest/scope.h). */
	IGNORE(fchown(dir, owner, group));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		IGNORE(fchownat(dir, files[i], owner, group, 0));
}

/* Moves every member of the group BASE into a child group of BASE. Returns 0, or -errno if a member
 * cannot be moved. */
static int move_members(int base)
{
	AUTO_FD callers = make_dir(base, HIERARCHY_CALLERS);

	for (unsigned pass = 0; callers >= 0 && pass < MOVE_PASSES_MAX; pass++) {
		AUTO_BUF members = BUF_INIT(CONTROL_FILE_MAX_BYTES);
		struct str rest;
		int r = io_read_file(base, "cgroup.procs", &members);

		if (r < 0 || members.n == 0)
			return r;
		rest = (struct str){ members.p, members.n };
		while (rest.p && rest.n) {
			struct str line = str_cut(&rest, '\n');
			AUTO_FREE char *pid = xstrndup(line.p, line.n);

			r = io_write_file(callers, "cgroup.procs", pid);
			if (r < 0 && r != -ESRCH)
				return r;
		}
	}
	return callers < 0 ? -errno : -EBUSY;
}

static bool has_word(const char *list, const char *word)
{
	for (struct str rest = str_of(list); rest.p;)
		if (str_eq(str_cut(&rest, ' '), word))
			return true;
	return false;
}

/* Enables CONTROLLER ("+memory") for the children of the group BASE. The kernel refuses this if
 * BASE has members (EBUSY). In this case we move the members into a child group first. BASE has
 * members if it is a user's own group. In a container it has members too, because the top group of
 * a container is not the top group of the machine. After the move, a process that enters the
 * container later (docker exec) cannot join the top group any more. runc then puts this process
 * into the group of the container's first process, which is the child group. */
static void hand_down(int base, const char *controller)
{
	int r = io_write_file(base, "cgroup.subtree_control", controller);

	if (r == -EBUSY && move_members(base) == 0)
		r = io_write_file(base, "cgroup.subtree_control", controller);
	IGNORE(r); /* if it failed, users see that the limit is not enforced */
}

/* Enables the controllers that we want. Returns false if none of them is available. */
static bool enable_controllers(const struct cgroup *c)
{
	static const char *const wanted[] = { "+memory", "+pids", "+cpu" };
	AUTO_FD parent = openat(c->v2_home, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char have[WORDS_MAX_BYTES], above[WORDS_MAX_BYTES] = "";
	bool some = false;

	read_words(c->v2_home, "cgroup.controllers", have);
	if (parent >= 0)
		read_words(parent, "cgroup.controllers", above);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const char *name = wanted[i] + 1;

		if (!has_word(have, name) && !has_word(above, name))
			continue;
		if (!has_word(have, name))
			hand_down(parent, wanted[i]);
		some |= io_write_file(c->v2_home, "cgroup.subtree_control", wanted[i]) == 0;
	}
	return some;
}

void cgroup_limit(struct cgroup *c, const struct cgroup_limits *l, uid_t owner, gid_t owner_gid)
{
	if (c->v2_home >= 0) {
		bool can_limit = c->v2_limits && enable_controllers(c);

		if (cgroup_payload(c) >= 0) {
			if (can_limit) {
				apply_v2(c, c->v2_payload, l);
				c->oom = openat(c->v2_payload, "memory.events",
						O_RDONLY | O_CLOEXEC);
			}
			delegate(c->v2_home, owner, owner_gid);
			delegate(c->v2_payload, owner, owner_gid);
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(v1_names); i++)
		if (!c->enforced[i])
			limit_v1(c, i, l);
}

/* Gives the cpuset GROUP the CPUs and memory nodes of its parent. Without CPUs and memory nodes the
 * kernel lets no process join the group. */
static bool fill_cpuset(int parent, int group)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char words[WORDS_MAX_BYTES];

		read_words(parent, files[i], words);
		if (io_write_file(group, files[i], words) < 0)
			return false;
	}
	return true;
}

/* Returns true if a group of *C is in the hierarchy of DIR. This happens if several controllers are
 * mounted together. */
static bool is_in_hierarchy(const struct cgroup *c, int dir)
{
	struct stat a, b;

	for (unsigned i = 0; i < c->n_v1; i++)
		if (fstat(dir, &a) == 0 && fstat(c->v1[i], &b) == 0 && a.st_dev == b.st_dev)
			return true;
	return false;
}

void cgroup_make_seen(struct cgroup *c)
{
	bool limited = false;
	char name[64], path[128];

	for (unsigned i = 0; i < c->n_v1; i++)
		limited |= c->kind[i] != CGROUP_PIDS;
	group_name(c->id, name);
	for (unsigned i = 0; limited && i < CGROUP_SEEN_COUNT; i++) {
		AUTO_FD top = -1;
		AUTO_FD dir = -1;

		snprintf(path, sizeof(path), CGROUP_ROOT "/%s", seen_names[i]);
		top = open_dir(AT_FDCWD, path);
		if (top < 0 || is_cgroup2(top) || is_in_hierarchy(c, top))
			continue;
		dir = make_dir(top, name);
		if (dir >= 0 && i == CGROUP_CPUSET && !fill_cpuset(top, dir)) {
			IGNORE(unlinkat(top, name, AT_REMOVEDIR));
			continue;
		}
		c->seen[i] = fd_take(&dir);
	}
}

/* Makes a group for helper processes, beside the groups of commands. The payload's group itself
 * cannot have members, because it has groups below it. */
void cgroup_make_helpers(struct cgroup *c)
{
	AUTO_FD dir = c->v2_payload < 0 ? -1 : make_dir(c->v2_payload, "server");

	fd_closep(&c->v2_helpers);
	if (dir >= 0)
		c->v2_helpers = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
}

void cgroup_join(const struct cgroup *c, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	if (c->v2_helpers >= 0)
		IGNORE(io_write_all(c->v2_helpers, text, strlen(text)));
	for (unsigned i = 0; i < c->n_v1; i++)
		IGNORE(io_write_all(c->tasks[i], text, strlen(text)));
}

int cgroup_update(const struct cgroup *c, const struct cgroup_limits *l)
{
	struct cgroup copy = *c;

	memset(copy.enforced, 0, sizeof(copy.enforced));
	if (copy.v2_payload >= 0)
		apply_v2(&copy, copy.v2_payload, l);
	for (unsigned i = 0; i < copy.n_v1; i++)
		apply_v1(&copy, copy.v1[i], copy.kind[i], l);
	if ((l->memory_bytes && !copy.enforced[CGROUP_MEMORY]) ||
	    (l->pids && !copy.enforced[CGROUP_PIDS]) ||
	    (l->cpu_milli && !copy.enforced[CGROUP_CPU]))
		return -EOPNOTSUPP;
	return 0;
}

/* A process needs CPU time to die. A thousand throttled processes would take minutes, so the CPU
 * limit is removed before a kill. */
void cgroup_lift_cpu(const struct cgroup *c)
{
	if (!c->enforced[CGROUP_CPU])
		return;
	/* the write fails if the group lacks the file */
	if (c->v2_payload >= 0)
		IGNORE(io_write_file(c->v2_payload, "cpu.max", "max"));
	for (unsigned i = 0; i < c->n_v1; i++)
		if (c->kind[i] == CGROUP_CPU)
			IGNORE(io_write_file(c->v1[i], "cpu.cfs_quota_us", "-1"));
}

/* Releases the group NAME, after all groups below it. The kernel removes the files of these groups.
 * Returns false while a member is still dying. */
static bool release_groups(int parent, const char *name, unsigned depth)
{
	AUTO_FD dir = -1;
	struct dirent *d;
	DIR *list;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		/* the group had no groups below it, so we are done; this is the usual case */
		return true;
	dir = open_dir(parent, name);
	if (dir < 0 || depth == 0)
		return true;
	list = fdopendir(fcntl(dir, F_DUPFD_CLOEXEC, 0));
	/* If a group below NAME cannot be released, the unlinkat() after this loop fails, too. So
	 * the results of these calls are not needed. */
	while (list && (d = readdir(list)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			IGNORE(release_groups(dir, d->d_name, depth - 1));
	if (list)
		closedir(list);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY;
}

static void release_one(int base, const char *name)
{
	char kill_file[96];

	snprintf(kill_file, sizeof(kill_file), "%s/cgroup.kill", name);
	/* this fails in version 1, which has no such file */
	IGNORE(io_write_file(base, kill_file, "1"));
	for (unsigned i = 0; i < RELEASE_TRIES && !release_groups(base, name, RELEASE_DEPTH_MAX);
	     i++)
		IGNORE(poll(NULL, 0, RELEASE_RETRY_MS));
}

/* Releases a group that a killed supervisor left. Lifts the group's CPU limit first, because
 * throttled members die slowly. */
static void release_left(int base, const char *name)
{
	AUTO_FD group = -1;

	if (unlinkat(base, name, AT_REMOVEDIR) == 0)
		return;
	group = open_dir(base, name);
	if (group < 0)
		return;
	IGNORE(io_write_file(group, "payload/cpu.max", "max")); /* version 2 */
	IGNORE(io_write_file(group, "cpu.cfs_quota_us", "-1")); /* version 1 */
	release_one(base, name);
}

void cgroup_release(const char *id)
{
	char name[64], path[128];
	AUTO_FD v2 = open_v2_base();
	AUTO_FD scope = geteuid() == 0 ? -1 : hierarchy_open_scope(id);

	group_name(id, name);
	if (v2 >= 0)
		release_left(v2, name);
	if (scope >= 0)
		release_left(scope, name);
	for (size_t i = 0; i < ARRAY_SIZE(v1_names) + CGROUP_SEEN_COUNT; i++) {
		AUTO_FD root = -1;

		snprintf(path, sizeof(path), CGROUP_ROOT "/%s",
			 i < ARRAY_SIZE(v1_names) ? v1_names[i]
						  : seen_names[i - ARRAY_SIZE(v1_names)]);
		root = open_dir(AT_FDCWD, path);
		if (root >= 0)
			release_left(root, name);
	}
}

/* Releases the open GROUP through its parent directory, without a path. */
static void release_open(int group, const char *name)
{
	AUTO_FD parent = group < 0 ? -1 : openat(group, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (parent >= 0)
		release_one(parent, name);
}

void cgroup_release_open(const struct cgroup *c)
{
	char name[64];

	group_name(c->id, name);
	release_open(c->v2_home, name);
	for (unsigned i = 0; i < c->n_v1; i++)
		release_open(c->v1[i], name);
	for (unsigned i = 0; i < CGROUP_SEEN_COUNT; i++)
		release_open(c->seen[i], name);
}

static bool read_number(int dir, const char *file, const char *key, uint64_t *ret)
{
	char room[CONTROL_FILE_USUAL_BYTES];
	AUTO_BUF text = BUF_IN(room, CONTROL_FILE_MAX_BYTES);
	struct str rest;

	if (io_read_file(dir, file, &text) < 0)
		return false;
	rest = (struct str){ buf_str(&text), text.n };
	while (rest.p && rest.n) {
		struct str line = str_cut(&rest, '\n');

		if (!key)
			return parse_u64_str(line, 0, UINT64_MAX, ret) == 0;
		if (line.n > strlen(key) && memcmp(line.p, key, strlen(key)) == 0 &&
		    line.p[strlen(key)] == ' ') {
			line.p += strlen(key) + 1;
			line.n -= strlen(key) + 1;
			return parse_u64_str(line, 0, UINT64_MAX, ret) == 0;
		}
	}
	return false;
}

/* Reads the usage of one group. Versions 1 and 2 have different files. */
static void usage_of(int dir, struct cgroup_usage *u)
{
	uint64_t v;

	if (read_number(dir, "memory.usage_in_bytes", NULL, &v) ||
	    read_number(dir, "memory.current", NULL, &v)) {
		u->memory_bytes = v;
		u->has_memory = true;
	}
	if (read_number(dir, "cpuacct.usage", NULL, &v)) {
		u->cpu_ns = v;
		u->has_cpu = true;
	} else if (read_number(dir, "cpu.stat", "usage_usec", &v) && v) {
		u->cpu_ns = v * 1000;
		u->has_cpu = true;
	}
	if (read_number(dir, "pids.current", NULL, &v)) {
		u->pids = v;
		u->has_pids = true;
	}
}

void cgroup_read_usage(const struct cgroup *c, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){ 0 };
	if (c->v2_payload >= 0)
		usage_of(c->v2_payload, ret);
	for (unsigned i = 0; i < c->n_v1; i++)
		usage_of(c->v1[i], ret);
}
