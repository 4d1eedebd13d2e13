/*
 * A network namespace made ahead: by a task of its own, before we even know what the sandbox is, since the
 * kernel takes longer for it than for all other namespaces together. Root's alone: it belongs to the host's
 * user namespace, so not even pid 1 has a say in it, and everything about it is done by that task.
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
	pid_t pid;                   /* of the task, or -1 */
	pid_t parent;                /* ours */
	int home;                    /* the namespace we are in ourselves */
	int fd;                      /* the new one */
	int link;                    /* of its interface, or -1 */
	int coming;                  /* the task's id until fd is there, or never will be */
	int order;                   /* of enum netns_order; with GO what follows is known */
	const struct netif_job *job; /* or NULL: loopback only */
	struct netns_sysctl sysctl[NETNS_SYSCTLS];
	enum netns_failure failed; /* … if err says so */
	int err;
	_Alignas(16) char stack[NETNS_STACK_BYTES];
};

/* Begins; N stays where it is until netns_done(). */
MUST_USE int netns_begin(struct netns *n, struct err *e);
/* What shall be in it. For the groups see netns_sysctls(). */
void netns_order(struct netns *n, const struct netif_job *job, unsigned first_group,
		 unsigned last_group);
/* Steps in as soon as it is there, for a clone that shall be born in it, and back. We have no threads. */
MUST_USE int netns_enter(struct netns *n, struct err *e);
void netns_leave(const struct netns *n);
/* Waits until all that was ordered is done. ERR_DENIED with a hint when there is no device to be had. */
MUST_USE int netns_finish(struct netns *n, struct err *e);
void netns_done(struct netns *n);

/* The payload has no privilege over its network namespace; what any root expects to do with one, we
 * allow everybody in there: to serve port 80, and to ping. Groups are numbers of the writer's. */
void netns_sysctls(struct netns_sysctl out[NETNS_SYSCTLS], unsigned first_group,
		   unsigned last_group);

/* The task: netif.c, system calls only. ARG is a struct netns, whose memory and descriptors it shares. */
void netns_task(void *arg);
