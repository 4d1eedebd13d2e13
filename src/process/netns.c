#include "process/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/raw.h"
#include "process/ids.h"

void netns_sysctls(struct netns_sysctl out[NETNS_SYSCTLS], unsigned first_group,
		   unsigned last_group)
{
	out[0].path = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
	snprintf(out[0].text, sizeof(out[0].text), "0");
	out[1].path = "/proc/sys/net/ipv4/ping_group_range";
	snprintf(out[1].text, sizeof(out[1].text), "%u %u", first_group, last_group);
	for (unsigned i = 0; i < NETNS_SYSCTLS; i++)
		out[i].n = strlen(out[i].text);
}

int netns_begin(struct netns *n, struct err *e)
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		.parent_tid = (uintptr_t)&n->coming,
		/* the kernel clears this word if the task dies */
		.child_tid = (uintptr_t)&n->coming,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)n->stack,
		.stack_size = sizeof(n->stack),
	};
	sigset_t all, before;
	long pid;

	n->pid = n->fd = n->link = -1;
	n->err = 0;
	n->order = NETNS_WAIT;
	n->parent = getpid();
	n->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (n->home < 0)
		return err_sys(e, errno, "find our own network namespace");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = raw_clone_on_stack(&args, netns_task, n);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		fd_closep(&n->home);
		return ids_refused((int)-pid, e);
	}
	n->pid = (pid_t)pid;
	return 0;
}

/* Moves the task PID to another CPU if it waits for our CPU. The kernel often puts a new task on
 * the CPU of its parent, even if another CPU is idle. In a virtual machine some kernels do that on
 * purpose. */
static void go_elsewhere(pid_t pid)
{
	int here = sched_getcpu();
	cpu_set_t all, others;

	if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(pid, sizeof(all), &all) < 0)
		return;
	others = all;
	CPU_CLR((unsigned)here, &others);
	/* The first call moves the task at once. After the second call the task may run on any CPU
	 * again. Both fail if the task has ended. */
	if (CPU_COUNT(&others) > 0 && sched_setaffinity(pid, sizeof(others), &others) == 0)
		IGNORE(sched_setaffinity(pid, sizeof(all), &all));
}

static void tell(struct netns *n, enum netns_order order)
{
	__atomic_store_n(&n->order, (int)order, __ATOMIC_RELEASE);
	RAW3(SYS_futex, &n->order, FUTEX_WAKE_PRIVATE, 1);
}

void netns_order(struct netns *n, const struct netif_setup *setup, unsigned first_group,
		 unsigned last_group)
{
	n->setup = setup;
	netns_sysctls(n->sysctl, first_group, last_group);
	tell(n, NETNS_GO);
	/* netns_begin() need not do this: after netns_begin() we sleep until the record comes, and
	 * meanwhile the task can run on our CPU. From now on we need our CPU ourselves. */
	go_elsewhere(n->pid);
}

static void wait_for_task(struct netns *n)
{
	while (n->pid > 0 && waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
		;
	n->pid = -1;
}

static int failed(const struct netns *n, struct err *e)
{
	switch (n->failed) {
	case NETNS_MAKE:
		return ids_refused(n->err ? n->err : ECHILD, e);
	case NETNS_DEVICE:
		err_sys(e, n->err, "open '%s'", TUN_DEVICE);
		e->code = ERR_DENIED;
		return err_hint(e, "load the module: modprobe tun");
	case NETNS_INTERFACE:
		return err_sys(e, n->err, "set up the sandbox's interface");
	case NETNS_LOOPBACK:
		return err_sys(e, n->err, "set up the sandbox's loopback interface");
	case NETNS_OPEN:
		break;
	}
	return err_sys(e, n->err ? n->err : ECHILD, "open the sandbox's network namespace");
}

int netns_enter(struct netns *n, struct err *e)
{
	int task;

	/* the kernel wakes us when the task clears the word or ends */
	while ((task = __atomic_load_n(&n->coming, __ATOMIC_ACQUIRE)) != 0)
		RAW4(SYS_futex, &n->coming, FUTEX_WAIT, task, NULL);
	if (n->fd < 0)
		return failed(n, e);
	if (setns(n->fd, CLONE_NEWNET) < 0)
		return err_sys(e, errno, "enter the sandbox's network namespace");
	return 0;
}

void netns_leave(const struct netns *n)
{
	if (setns(n->home, CLONE_NEWNET) < 0)
		abort(); /* otherwise all later system calls would use the wrong network */
}

int netns_finish(struct netns *n, struct err *e)
{
	wait_for_task(n);
	return n->err ? failed(n, e) : 0;
}

void netns_done(struct netns *n)
{
	if (n->order == NETNS_WAIT)
		tell(n, NETNS_GIVE_UP);
	wait_for_task(n); /* wait, because the stack of the task is in our memory */
	fd_closep(&n->home);
	fd_closep(&n->fd);
	fd_closep(&n->link);
}
