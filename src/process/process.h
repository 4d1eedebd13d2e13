/*
 * The process engine: an instance is a pid 1 of ours in namespaces of its own.
 *
 * process_init(), process_begin(), then process_start(), which returns once the clone is made and told to go; the
 * instance is up when pid 1 says READY on the channel. Until then process_failure() explains a channel that closed. The
 * caller owns the instance and ends it with process_kill() and process_done().
 */
#pragma once

#include "process/cgroup.h"
#include "process/ids.h"
#include "process/netns.h"
#include "process/plan.h"
#include "process/rootfs.h"
#include "spec/spec.h"

struct process_request {
	struct rootfs rootfs;
	int fuse_overlay_program; /* from fuse_overlay_program(), where rootfs.served; or -1 */
	const char *cgroup_id;
	struct cgroup_limits limits;
	int guest_program;         /* from process_guest_program() */
	const struct netif *netif; /* the addresses of eth0, or NULL: loopback only */
	bool tap; /* we may make the interface, if root's range of ids is used; else pid 1 does */
};

struct process_instance {
	pid_t pid;
	int pidfd;
	int channel; /* frames to and from pid 1 */
	struct cgroup cgroup;
	struct plan *plan; /* kept until READY: the child reads it. In its memory are … */
	struct child_args *child;
	void *stack;
	struct netif_job *netif;
	struct netns *netns;           /* made ahead, or NULL */
	struct holder *mapping;        /* of the namespace that maps the layers' ids, or NULL */
	uid_t owner;                   /* of its user namespace; 0: whoever we are */
	int link_from;                 /* pid 1 sends the link here, or -1 */
	int link_report;               /* its end of that, until it is born */
	int link;                      /* the gateway's end of eth0, once it is known, or -1 */
	struct process_instance *fuse; /* of its root, see fuse_overlay.h; or NULL */
	bool unmappable; /* the ids of the layers cannot be mapped: rootfs.served may help */
};

/* The numbers that pid 1 finds its descriptors under (guest/guest.h). */
enum guest_fd {
	GUEST_CHANNEL_FD = 3,
	GUEST_GROUP_FD, /* the group of its commands, if the child opened it */
};

void process_init(struct process_instance *i);
/* For an instance with root's range of ids, after process_init(): what needs no request begins. */
void process_begin_early(struct process_instance *i);
/* What the kernel takes long for begins, while the caller opens layers and volumes; of the request ids,
 * netif, tap and parent_mounts are known. */
MUST_USE int process_begin(const struct process_request *r, struct process_instance *ret,
			   struct err *e);
/* The rest, with the same request complete. */
MUST_USE int process_start(const struct process_request *r, struct process_instance *ret,
			   struct err *e);
/* After process_start(): waits until the child has mounted the overlay, or could not. True if the kernel
 * refuses this overlay: the caller ends the instance and may start it again with rootfs.served. */
bool process_overlay_refused(const struct process_request *r, const struct process_instance *i);
/* After the channel closed before READY: why. Always returns -1. */
int process_failure(struct process_instance *i, struct err *e);
/* Where it failed, in a word: "mount", "network" or "other". */
const char *process_failed_stage(const struct process_instance *i);
/* After READY: releases what only the start needed. */
void process_started(struct process_instance *i);
/* After READY, where an interface was asked for: the gateway's end, now the caller's. */
MUST_USE int process_take_link(struct process_instance *i, int *ret_link, struct err *e);
void process_kill(struct process_instance *i);
/* Reaps and releases. Removes the cgroups. A server gets time to write what it still has. */
void process_done(struct process_instance *i);

/* The program of pid 1 as something that nobody inside can write to, whatever happens there. Root's file
 * serves all sandboxes, and they share its pages: for root through a read-only mount, for others as it is,
 * since host's root is nobody in there. A file of the caller's own is the root's inside: a sealed copy. */
MUST_USE int process_guest_program(const char *path, bool parent_mounts, int *ret_fd,
				   struct err *e);
