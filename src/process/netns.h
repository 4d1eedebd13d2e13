/*
 * A network namespace that a separate task makes before we have read the record, because the kernel
 * needs more time for it than for all other namespaces together. Only root does this. The namespace
 * belongs to the host's user namespace, so even pid 1 has no privilege over it, and the task makes
 * everything in it.
 */
#pragma once

#include <sys/types.h>

#include "process/netlink.h"

#define NETNS_SYSCTLS 2
#define NETNS_STACK_BYTES 16384

enum netns_failure { NETNS_MAKE, NETNS_LOOPBACK, NETNS_DEVICE, NETNS_INTERFACE, NETNS_OPEN };

struct netns_sysctl {
	const char *path;
	char text[32];
	size_t n;
};

enum netns_order { NETNS_WAIT, NETNS_GO, NETNS_GIVE_UP };

struct netns {
	pid_t pid;    /* the pid of the task, or -1 */
	pid_t parent; /* our pid */
	int home;     /* our own network namespace */
	int fd;       /* the new network namespace */
	int link;     /* the gateway's end of the interface, or -1 */
	int coming;   /* a futex: the id of the task until it has set fd or has ended; then 0 */
	int order;    /* enum netns_order; if it is GO, the members below are set */
	const struct netif_job *job; /* the interface to make, or NULL for loopback only */
	struct netns_sysctl sysctl[NETNS_SYSCTLS];
	enum netns_failure failed; /* what failed, if err is not 0 */
	int err;
	_Alignas(16) char stack[NETNS_STACK_BYTES];
};

/* Starts the task. N must not move until netns_done(). */
MUST_USE int netns_begin(struct netns *n, struct err *e);
/* Tells the task what to make in the namespace. For the groups see netns_sysctls(). */
void netns_order(struct netns *n, const struct netif_job *job, unsigned first_group,
		 unsigned last_group);
/* netns_enter() waits until the namespace exists and enters it, so that the next clone is born
 * in it; netns_leave() leaves it again. We have no threads that this would affect. */
MUST_USE int netns_enter(struct netns *n, struct err *e);
void netns_leave(const struct netns *n);
/* Waits until the task has done its order. Fails with ERR_DENIED and a hint if /dev/net/tun cannot be opened. */
MUST_USE int netns_finish(struct netns *n, struct err *e);
void netns_done(struct netns *n);

/* Makes the settings that let all users inside listen on port 80 and ping. Root inside expects both, but the payload
 * has no privilege over its network namespace. The groups are ids in the user namespace of the process that writes the
 * setting. */
void netns_sysctls(struct netns_sysctl out[NETNS_SYSCTLS], unsigned first_group,
		   unsigned last_group);

/* The task, in netif.c: it makes system calls only. ARG is a struct netns; the task shares our memory and
 * descriptors. */
void netns_task(void *arg);
