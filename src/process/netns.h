/*
 * A network namespace that is made early, by a separate task, while we still read the sandbox's
 * record. The kernel needs more time for a network namespace than for all other namespaces
 * together. The namespace is made early only if root runs cordon. In this case it belongs to the
 * host's user namespace, and even pid 1 has no privilege over it. So the task also makes everything
 * in the namespace.
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
	int coming;   /* a futex: the id of the task; 0 after the task has set `fd` or has ended */
	/* a value of enum netns_order; if it is NETNS_GO, `setup` and `sysctl` are set */
	int order;
	const struct netif_setup *setup; /* the interface to make, or NULL for loopback only */
	struct netns_sysctl sysctl[NETNS_SYSCTLS];
	enum netns_failure failed; /* what failed, if err is not 0 */
	int err;
	_Alignas(16) char stack[NETNS_STACK_BYTES];
};

/* Starts the task. *N must stay at its address until netns_done(). */
MUST_USE int netns_begin(struct netns *n, struct err *e);
/* Tells the task what to make in the namespace. netns_sysctls() explains the two groups. */
void netns_order(struct netns *n, const struct netif_setup *setup, unsigned first_group,
		 unsigned last_group);
/* netns_enter() waits until the namespace exists and enters it, so that the next child is born in
 * it. netns_leave() returns to our own namespace. */
MUST_USE int netns_enter(struct netns *n, struct err *e);
void netns_leave(const struct netns *n);
/* Waits until the task has done what netns_order() told it. Fails with ERR_DENIED and a hint if
 * /dev/net/tun cannot be opened. */
MUST_USE int netns_finish(struct netns *n, struct err *e);
void netns_done(struct netns *n);

/* Fills OUT with the settings that let all users in the sandbox use ping and listen on low ports
 * such as 80. Root in the sandbox expects both, but the payload has no privilege over its network
 * namespace. FIRST_GROUP and LAST_GROUP are ids in the user namespace of the process that writes
 * the settings. */
void netns_sysctls(struct netns_sysctl out[NETNS_SYSCTLS], unsigned first_group,
		   unsigned last_group);

/* The code of the task, in process/netif.c. It makes only system calls. ARG is a struct netns. The
 * task shares our memory and our descriptors. */
void netns_task(void *arg);
