/*
 * An order holds the arguments of one command (struct exec_args) with everything that they point
 * to. An order is in memory that pid 1 and the launcher share at the same address. pid 1 wakes the
 * launcher through an eventfd. The launcher sends no answer, because an answer would wake pid 1 and
 * so delay the command that has just begun. The launcher clones with clone(2), because the filter
 * refuses clone3. The kernel writes the new pid into the order before the process runs. So whenever
 * pid 1 looks at the order, it knows whether the command has a process.
 */
#include "guest/launcher.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/raw.h"

/* size of an order with its strings; pid 1 starts longer commands itself */
#define ORDER_BYTES (128u << 10)
#define STACK_BYTES 32768
#define CAP_BIT(c) (1u << (c))

struct order {
	struct exec_args args;
	struct exec_walls walls;
	struct user user;
	volatile pid_t pid; /* the pid of the command; 0 until its process is cloned */
	bool has_cpus;      /* the command runs on `cpus`, not on the CPUs of the launcher */
	cpu_set_t cpus;
	size_t used; /* how many bytes of `text` are used */
	_Alignas(16) char text[];
};

struct launcher {
	pid_t pid;
	int pidfd;
	int go; /* an eventfd that wakes the launcher */
	struct order *order;
};

/* --- the launcher ---------------------------------------------------------------------------- */

/* The stack of a command until its exec. One stack is enough, because the next order comes after
 * the command of the last order has ended. */
static _Alignas(16) char command_stack[STACK_BYTES];

static void run_order(void *arg)
{
	struct order *o = arg;

	if (o->has_cpus)
		RAW3(SYS_sched_setaffinity, 0, sizeof(o->cpus), &o->cpus);
	exec_become(&o->args);
}

/* Keeps the capabilities that the launcher needs to start commands as any user. The bounding set
 * decides which capabilities a command gets. */
static long keep_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[0].effective = data[0].permitted = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID);
	return RAW2(SYS_capset, &head, data);
}

/* Runs the launcher: enters the walls, and clones a command for each order. Makes system calls
 * only, as all code between a clone and an exec does. */
static _Noreturn void serve(const struct launcher *l, const struct exec_walls *w)
{
	enum exec_failure failure;
	uint64_t n;

	if (exec_enter_walls(w, w->filter, &failure) < 0 || keep_capabilities() < 0)
		raw_exit(1);
	while (RAW3(SYS_read, l->go, &n, sizeof(n)) == sizeof(n)) {
		struct order *o = l->order;
		/* do not use CLONE_VFORK: the exec would then wake the launcher, which could take
		 * the CPU from the command */
		long r = raw_old_clone_on_stack(
			CLONE_VM | CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD,
			command_stack + sizeof(command_stack), (int *)&o->pid, run_order, o);

		if (r < 0)
			o->args.report = exec_clone_report(r);
	}
	raw_exit(1);
}

struct launcher *launcher_new(const struct exec_walls *w, int cgroup)
{
	struct launcher *l = xcalloc(1, sizeof(*l));
	struct clone_args args = {
		.flags =
			CLONE_FILES | CLONE_PIDFD | (cgroup < 0 ? CLONE_NEWUTS : CLONE_INTO_CGROUP),
		.pidfd = (uintptr_t)&l->pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup < 0 ? 0 : (uint64_t)cgroup,
	};
	long pid = -1;

	l->pidfd = -1;
	l->go = eventfd(0, EFD_CLOEXEC);
	l->order =
		mmap(NULL, ORDER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->order == MAP_FAILED)
		l->order = NULL;
	if (l->go >= 0 && l->order)
		/* all signals are blocked, and stay blocked in the launcher */
		pid = RAW2(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		serve(l, w);
	if (pid < 0) {
		launcher_free(l);
		return NULL;
	}
	l->pid = (pid_t)pid;
	return l;
}

/* --- pid 1 ----------------------------------------------------------------------------------- */

/* Copies N bytes at P into the order. Returns NULL if they do not fit. */
static void *put(struct order *o, const void *p, size_t n)
{
	size_t at = (o->used + 15) & ~(size_t)15;

	if (sizeof(*o) + at > ORDER_BYTES || n > ORDER_BYTES - sizeof(*o) - at)
		return NULL;
	if (n)
		memcpy(o->text + at, p, n);
	o->used = at + n;
	return o->text + at;
}

static const char *const *put_list(struct order *o, const char *const *list)
{
	const char **copy;
	size_t n = 0;

	while (list[n])
		n++;
	copy = put(o, list, (n + 1) * sizeof(*list));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = put(o, list[i], strlen(list[i]) + 1);
		if (!copy[i])
			return NULL;
	}
	return copy;
}

static bool write_order(struct order *o, const struct exec_args *a)
{
	o->used = 0;
	o->pid = 0;
	o->args = *a;
	o->args.report_fd = -1;
	o->args.report = (struct exec_report){ EXEC_OK, 0 };
	o->walls = *a->walls;
	o->args.walls = &o->walls;
	o->user = *a->user;
	o->args.user = &o->user;
	o->args.argv = put_list(o, a->argv);
	o->args.envp = put_list(o, a->envp);
	o->args.paths = put_list(o, a->paths);
	o->args.cwd = put(o, a->cwd, strlen(a->cwd) + 1);
	o->args.rlimit = put(o, a->rlimit, a->n_rlimits * sizeof(*a->rlimit));
	o->walls.rlimit = put(o, a->walls->rlimit, a->walls->n_rlimits * sizeof(*a->rlimit));
	return o->args.argv && o->args.envp && o->args.paths && o->args.cwd && o->args.rlimit &&
	       o->walls.rlimit;
}

bool launcher_order(struct launcher *l, const struct exec_args *a, const cpu_set_t *cpus)
{
	const uint64_t one = 1;

	l->order->has_cpus = cpus != NULL;
	if (cpus)
		l->order->cpus = *cpus;
	return write_order(l->order, a) && write(l->go, &one, sizeof(one)) == sizeof(one);
}

struct exec_args *launcher_args(const struct launcher *l)
{
	return &l->order->args;
}

pid_t launcher_command(const struct launcher *l)
{
	return l->order->pid;
}

bool launcher_may_begin(const struct launcher *l)
{
	return !l->order->args.report.failure && sys_pidfd_send_signal(l->pidfd, 0) == 0;
}

pid_t launcher_pid(const struct launcher *l)
{
	return l->pid;
}

void launcher_reaped(struct launcher *l, pid_t pid)
{
	if (l->pid == pid)
		l->pid = -1;
}

void launcher_kill(struct launcher *l)
{
	IGNORE(sys_pidfd_send_signal(l->pidfd,
				     SIGKILL)); /* fails if the launcher is dead already */
}

void launcher_free(struct launcher *l)
{
	if (!l)
		return;
	if (l->pidfd >= 0)
		launcher_kill(l);
	fd_closep(&l->pidfd);
	fd_closep(&l->go);
	if (l->order)
		munmap(l->order, ORDER_BYTES);
	free(l);
}
