#include "guest/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

/* the list of pid 1's children is shorter than this if it has only launchers and the deputy */
#define CHILDREN_MAX_BYTES 256
#define PROCS_MAX_BYTES (8u << 20) /* cgroup.procs with a million processes */

void scopes_init(struct scopes *s, int payload, bool watched, const struct exec_walls *walls)
{
	*s = (struct scopes){ .payload = payload, .children = -1, .walls = walls };
	/* use marks if there is no cgroup.kill (before Linux 5.14): groups would have no
	 * advantage */
	if (payload >= 0 && faccessat(payload, "cgroup.kill", F_OK, 0) < 0)
		fd_closep(&s->payload);
	if (s->payload < 0 || watched) /* if the open fails, no scope counts as free */
		s->children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
}

static void group_name(unsigned number, char out[32])
{
	snprintf(out, 32, "exec-%u", number);
}

static void drop_launcher(struct scopes *s, struct scope *c)
{
	if (!c->launcher)
		return;
	launcher_free(TAKE(c->launcher));
	s->n_launchers--;
}

/* --- which processes are left ---------------------------------------------------------------- */

enum members { MEMBERS_NONE, MEMBERS_LAUNCHER, MEMBERS_OTHERS };

static enum members look_at_group(const struct scope *c)
{
	char text[32] = "", alone[32];
	ssize_t n = c->procs < 0 ? -1 : pread(c->procs, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return n == 0 ? MEMBERS_NONE : MEMBERS_OTHERS;
	snprintf(alone, sizeof(alone), "%d\n", c->launcher ? (int)launcher_pid(c->launcher) : 0);
	return strcmp(text, alone) == 0 ? MEMBERS_LAUNCHER : MEMBERS_OTHERS;
}

/* Returns true if the group is empty except for its launcher. */
static bool group_is_free(struct scopes *s, struct scope *c)
{
	enum members m = look_at_group(c);

	if (m == MEMBERS_NONE)
		drop_launcher(s, c); /* the payload killed the launcher */
	return m != MEMBERS_OTHERS;
}

/* Returns true if PID is the deputy, a waiting launcher, or the launcher of BUSY. */
static bool is_helper(const struct scopes *s, const struct scope *busy, uint64_t pid)
{
	if ((uint64_t)s->deputy == pid)
		return true;
	if (busy && busy->launcher && (uint64_t)launcher_pid(busy->launcher) == pid)
		return true;
	for (unsigned i = 0; i < s->n_spare; i++)
		if (s->spare[i].launcher && (uint64_t)launcher_pid(s->spare[i].launcher) == pid)
			return true;
	return false;
}

/* Returns true if pid 1 has no children except launchers and the deputy. In this case the sandbox
 * has no other process, because every process of a command descends from a child of pid 1 that is
 * neither a launcher nor the deputy. */
static bool sandbox_is_free(const struct scopes *s, const struct scope *busy)
{
	char text[CHILDREN_MAX_BYTES];
	ssize_t n = s->children < 0 ? -1 : pread(s->children, text, sizeof(text), 0);
	struct str rest = { text, n < 0 ? 0 : (size_t)n };
	bool is_free = n >= 0 && n < (ssize_t)sizeof(text);

	while (is_free && rest.n) {
		struct str pid = str_cut(&rest, ' ');
		uint64_t v;

		is_free = pid.n == 0 ||
			  (parse_u64_str(pid, 2, INT32_MAX, &v) == 0 && is_helper(s, busy, v));
	}
	return is_free;
}

static bool is_free(struct scopes *s, struct scope *c)
{
	return s->payload >= 0 ? group_is_free(s, c) : sandbox_is_free(s, NULL);
}

/* --- from one command to the next ------------------------------------------------------------ */

/* Makes the UTS namespace of PID the mark of C. PID must be alive. */
static bool open_mark(struct scope *c, pid_t pid)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/uts", (int)pid);
	c->mark = open(path, O_RDONLY | O_CLOEXEC);
	if (c->mark < 0 || fstat(c->mark, &st) < 0)
		return false;
	c->mark_ino = st.st_ino;
	return true;
}

static void make_group(struct scopes *s, struct scope *ret)
{
	char name[32];
	int r;

	do { /* groups of an earlier supervisor that was killed may still have some of the names */
		ret->number = s->next++;
		group_name(ret->number, name);
		r = mkdirat(s->payload, name, 0755);
	} while (r < 0 && errno == EEXIST);
	if (r == 0)
		ret->group = openat(s->payload, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void take_spare(struct scopes *s, unsigned i, struct scope *ret)
{
	*ret = s->spare[i];
	s->spare[i] = s->spare[--s->n_spare];
}

/* Looks for a spare scope in which no process of a command is left. If WITH_LAUNCHER is true, the
 * scope must have a launcher, otherwise it must have none. Moves the scope to *RET and returns
 * true, or returns false if there is no such scope. If the payload has killed the launcher, *RET
 * has no launcher. */
static bool find_spare(struct scopes *s, bool with_launcher, struct scope *ret)
{
	for (unsigned i = s->n_spare; i-- > 0;)
		if (!s->spare[i].launcher == !with_launcher && is_free(s, &s->spare[i])) {
			take_spare(s, i, ret);
			return true;
		}
	return false;
}

static void release(struct scopes *s, struct scope *c)
{
	char name[32];

	drop_launcher(s, c);
	fd_closep(&c->mark);
	fd_closep(&c->procs);
	if (c->group < 0)
		return;
	fd_closep(&c->group);
	group_name(c->number, name);
	/* the kernel refuses this while a process in the group is still dying; in this case the
	 * supervisor removes the group later */
	IGNORE(unlinkat(s->payload, name, AT_REMOVEDIR));
}

static void keep_spare(struct scopes *s, struct scope *c)
{
	if (s->n_spare == SCOPES_SPARE_MAX) {
		release(s, c);
		return;
	}
	s->spare[s->n_spare++] = *c;
	*c = SCOPE_NONE;
}

/* Gives C a launcher for the next command, if C is free and pid 1 may make one more launcher. Pid 1
 * makes none before a first command has ended. With marks, pid 1 uses only one launcher at a
 * time. */
static void add_launcher(struct scopes *s, struct scope *c)
{
	unsigned most = s->payload < 0 ? 1 : SCOPES_LAUNCHERS_MAX;

	if (s->n_launchers >= most || !s->expects_more || !is_free(s, c))
		return;
	c->launcher = launcher_new(s->walls, c->group);
	if (!c->launcher)
		return;
	s->n_launchers++;
	if (s->payload < 0)
		open_mark(c, launcher_pid(c->launcher));
}

bool scopes_own(const struct scopes *s, uint64_t pid)
{
	return is_helper(s, NULL, pid);
}

void scopes_reaped(struct scopes *s, pid_t pid)
{
	if (s->deputy == pid)
		s->deputy = 0;
	for (unsigned i = 0; i < s->n_spare; i++)
		if (s->spare[i].launcher)
			launcher_reaped(s->spare[i].launcher, pid);
}

bool scopes_are_free(const struct scopes *s)
{
	return sandbox_is_free(s, NULL);
}

bool scope_is_over(struct scopes *s, const struct scope *c)
{
	return s->payload >= 0 ? look_at_group(c) != MEMBERS_OTHERS : sandbox_is_free(s, c);
}

void scope_close(struct scopes *s, struct scope *c)
{
	/* Linux 6.14 and later count the kills of each group. At each clone the kernel compares the
	 * count of pid 1's group with the count of the new process's group. If the counts differ,
	 * the new process dies at once. So a group that was killed cannot be used again */
	if (c->killed || s->ending) {
		release(s, c);
		return;
	}
	if (c->group >= 0 && c->procs < 0)
		c->procs = openat(c->group, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	if (!c->launcher) {
		fd_closep(&c->mark);
		add_launcher(s, c);
	}
	s->expects_more = true;
	if (c->group >= 0 || c->launcher)
		keep_spare(s, c);
}

void scopes_end(struct scopes *s)
{
	s->ending = true;
	while (s->n_spare)
		release(s, &s->spare[--s->n_spare]);
}

static void pin(struct scopes *s, const struct launcher *l)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(s->cpus), &s->cpus) < 0)
		return;
	CPU_ZERO(&here);
	CPU_SET((unsigned)cpu, &here);
	s->pinned |= sched_setaffinity(launcher_pid(l), sizeof(here), &here) == 0;
}

/* pid 1 itself enters a new UTS namespace, so that the next process has this mark from the start.
 * If the command made the namespace, the command could end before pid 1 looks, and its children
 * would have a mark that pid 1 does not know. */
static bool make_mark(struct scope *c)
{
	return unshare(CLONE_NEWUTS) == 0 && open_mark(c, getpid());
}

pid_t scope_start(struct scopes *s, struct scope *c, struct exec_args *a)
{
	if (s->payload >= 0 && c->group < 0 && !find_spare(s, false, c) && !find_spare(s, true, c))
		make_group(s, c);
	a->cgroup = c->group;
	/* without a group or mark pid 1 could not be sure to kill the command */
	if (s->payload < 0 ? !make_mark(c) : a->cgroup < 0) {
		a->report = (struct exec_report){ EXEC_RESOURCE, s->payload < 0 ? errno : ENOSPC };
		return -1;
	}
	return exec_start(a);
}

bool scope_order(struct scopes *s, struct scope *ret, const struct exec_args *a,
		 bool client_is_kept)
{
	if (!find_spare(s, true, ret))
		return false;
	if (ret->launcher && client_is_kept)
		pin(s, ret->launcher);
	if (ret->launcher && launcher_order(ret->launcher, a, s->pinned ? &s->cpus : NULL))
		return true;
	keep_spare(s, ret);
	return false;
}

struct launcher *scope_release_launcher(struct scopes *s, struct scope *c)
{
	fd_closep(&c->mark); /* this mark was the UTS namespace of the launcher */
	s->n_launchers--;
	return TAKE(c->launcher);
}

bool scope_owns(const struct scope *c, uint64_t pid)
{
	return c->launcher && (uint64_t)launcher_pid(c->launcher) == pid;
}

/* --- killing --------------------------------------------------------------------------------- */

/* Sends SIG to each process of the group except LAUNCHER (0 means no exception). Returns how
 * many processes got SIG. */
static unsigned signal_group(int group, int sig, pid_t launcher)
{
	AUTO_BUF b = BUF_INIT(PROCS_MAX_BYTES);
	struct str rest;
	unsigned n = 0;
	uint64_t pid;

	if (io_read_file(group, "cgroup.procs", &b) < 0)
		return 0;
	rest = str_of(buf_str(&b));
	while (rest.n)
		if (parse_u64_str(str_cut(&rest, '\n'), 2, INT32_MAX, &pid) == 0)
			n += (pid_t)pid != launcher && kill((pid_t)pid, sig) == 0;
	return n;
}

enum shown { SHOWN_NOTHING, SHOWN_THIS, SHOWN_OTHER };

static enum shown look_at_mark(const char *path, uint64_t ino)
{
	struct stat st;

	/* if a process runs a program that cannot be read, /proc does not show its mark. We treat
	 * the process as marked, because sparing a process of this scope would be worse than
	 * killing a process of another scope */
	if (stat(path, &st) < 0)
		return errno == EACCES || errno == EPERM ? SHOWN_THIS : SHOWN_NOTHING;
	return st.st_ino == ino ? SHOWN_THIS : SHOWN_OTHER;
}

/* Returns true if PID has the mark INO. All threads of a process have the same mark. If the first
 * thread has ended, /proc shows the mark only for the other threads. */
static bool is_marked(unsigned pid, uint64_t ino)
{
	enum shown shown;
	struct dirent *d;
	char path[80];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%u/ns/uts", pid);
	shown = look_at_mark(path, ino);
	if (shown != SHOWN_NOTHING)
		return shown == SHOWN_THIS;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	threads = opendir(path);
	while (threads && shown == SHOWN_NOTHING && (d = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/%u/task/%.16s/ns/uts", pid, d->d_name);
		if (d->d_name[0] != '.')
			shown = look_at_mark(path, ino);
	}
	if (threads)
		closedir(threads);
	return shown == SHOWN_THIS;
}

/* Sends SIG to each process with the mark INO except LAUNCHER (0 means no exception). Returns
 * how many processes got SIG. */
static unsigned signal_marked(uint64_t ino, int sig, pid_t launcher)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	unsigned n = 0;
	uint64_t pid;

	while (proc && (d = readdir(proc)))
		if (parse_u64(d->d_name, 2, INT32_MAX, &pid) == 0 && is_marked((unsigned)pid, ino))
			n += (pid_t)pid != launcher && kill((pid_t)pid, sig) == 0;
	if (proc)
		closedir(proc);
	return n;
}

/* Kills every process except pid 1 and SPARED. Stops all of them first. Stopped processes cannot
 * fork, and no process is left that could continue them. So one pass over /proc finds them all.
 * Returns false, without a kill, if /proc cannot be opened. */
static bool kill_all_but(pid_t spared)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	uint64_t pid;

	if (!proc)
		return false;
	kill(-1, SIGSTOP);
	while ((d = readdir(proc)))
		if (parse_u64(d->d_name, 2, INT32_MAX, &pid) == 0 && (pid_t)pid != spared)
			kill((pid_t)pid, SIGKILL);
	kill(spared, SIGCONT);
	closedir(proc);
	return true;
}

void scopes_kill(const struct scopes *s)
{
	/* kill(-1) reaches all processes. If a fork is under way, the kernel signals the new child
	 * or restarts the fork */
	if (!s->deputy || !kill_all_but(s->deputy))
		kill(-1, SIGKILL);
}

void scope_signal(const struct scope *c, int sig)
{
	pid_t launcher = c->launcher ? launcher_pid(c->launcher) : 0;

	if (c->group >= 0)
		signal_group(c->group, sig, launcher);
	else if (c->mark >= 0)
		signal_marked(c->mark_ino, sig, launcher);
}

enum scope_state scope_kill(const struct scopes *s, struct scope *c)
{
	uint64_t now = clock_mono_ns();

	c->killed = true;
	if (!c->deadline)
		c->deadline = now + SCOPE_PASSES_NS;
	if (c->group >= 0) {
		IGNORE(io_write_file(c->group, "cgroup.freeze", "1"));
		IGNORE(io_write_file(c->group, "cgroup.kill",
				     "1")); /* also kills children that are just being forked */
		/* cgroup.kill signals only first threads. If the first thread of a process has
		 * ended, the process survives. So we also kill each process by its pid. The
		 * processes are frozen, so none of them can fork meanwhile. If a process is still
		 * there at the deadline, it waits in the kernel and does not run */
		return signal_group(c->group, SIGKILL, 0) && now < c->deadline ? SCOPE_AGAIN
									       : SCOPE_DONE;
	}
	if (c->mark < 0 || signal_marked(c->mark_ino, SIGKILL, 0) == 0)
		return SCOPE_DONE;
	if (now < c->deadline)
		return SCOPE_AGAIN;
	scopes_kill(s);
	return SCOPE_SWEPT;
}
