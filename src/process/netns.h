/*
 * A network namespace that a task of its own makes early, before we know what the sandbox is: the kernel takes longer for
 * it than for all other namespaces together. Only root does this. The namespace belongs to the host's user namespace, so
 * not even pid 1 has a privilege over it, and the task makes everything in it.
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
	pid_t pid;    /* of the task, or -1 */
	pid_t parent; /* our pid */
	int home;     /* our own network namespace */
	int fd;       /* the new one */
	int link;     /* the gateway's end of its interface, or -1 */
	int coming;   /* the id of the task until it has set fd or has ended: a futex */
	int order;    /* enum netns_order; with GO the members below are set */
	const struct netif_job *job; /* or NULL: loopback only */
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
/* Enters the namespace as soon as it exists, so that a clone is born in it; and leaves it again. We have no
 * threads. */
MUST_USE int netns_enter(struct netns *n, struct err *e);
void netns_leave(const struct netns *n);
/* Waits until the task has done what it was told. ERR_DENIED with a hint if /dev/net/tun cannot be opened. */
MUST_USE int netns_finish(struct netns *n, struct err *e);
void netns_done(struct netns *n);

/* The payload has no privilege over its network namespace. So everybody inside is allowed what root expects to do:
 * to listen on port 80, and to ping. The groups are numbers as the writer of the setting sees them. */
void netns_sysctls(struct netns_sysctl out[NETNS_SYSCTLS], unsigned first_group,
		   unsigned last_group);

/* The task, in netif.c: it makes system calls only. ARG is a struct netns; the task shares our memory and
 * descriptors. */
void netns_task(void *arg);
