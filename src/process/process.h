/*
 * The process engine. An instance is one running sandbox: our pid 1 in its own namespaces.
 *
 * The supervisor calls process_init(), process_begin() and process_start(). process_start() returns
 * when the child is cloned and runs. The instance is up when pid 1 sends READY on the channel. If
 * the channel closes before READY, process_failure() says why. The supervisor owns the instance and
 * ends it with process_kill() and process_done().
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
	/* the result of fuse_overlay_program() if rootfs.served, else -1 */
	int fuse_overlay_program;
	const char *cgroup_id;
	struct cgroup_limits limits;
	int guest_program;         /* the result of process_guest_program() */
	const struct netif *netif; /* the addresses of eth0, or NULL for loopback only */
	/* The task of process/netns.h makes the interface eth0. If false, the child makes it. The
	 * task can do this only if root runs cordon and the sandbox has its own range of ids. */
	bool tap;
};

struct process_instance {
	pid_t pid;
	int pidfd;
	int channel; /* frames to and from pid 1 */
	struct cgroup cgroup;
	/* The plan is kept until READY, because the child reads it. The members from `child` to
	 * `mapping` are in the plan's memory. */
	struct plan *plan;
	struct child_args *child;
	void *stack;
	struct netif_setup *netif;
	struct netns *netns;    /* the network namespace that was made early, or NULL */
	struct holder *mapping; /* holds the user namespace that maps the ids of layers, or NULL */
	/* the id of the user who makes the child's user namespace; 0 means our own id */
	uid_t owner;
	int link_from;   /* the socket on which pid 1 sends the link, or -1 */
	int link_report; /* the other end of link_from, until the child is born */
	int link;        /* the gateway's end of eth0, or -1 as long as it is unknown */
	/* the fuse-overlayfs that serves the root of this instance (process/fuse_overlay.h), or
	 * NULL */
	struct process_instance *fuse;
	/* the ids of the layers cannot be mapped; a new start with rootfs.served may help */
	bool unmappable;
};

void process_init(struct process_instance *i);
/* Begins the work for which no request is needed. Call this after process_init(), if the sandbox
 * will have a range of ids. */
void process_begin_early(struct process_instance *i);
/* Begins work that takes the kernel long. While the kernel works, the caller can open layers and
 * volumes. Of the request, only rootfs.ids, rootfs.parent_mounts, netif and tap must be set. */
MUST_USE int process_begin(const struct process_request *r, struct process_instance *ret,
			   struct err *e);
/* Does the rest of the start. All members of the request *R must be set now. */
MUST_USE int process_start(const struct process_request *r, struct process_instance *ret,
			   struct err *e);
/* Call this after process_start(). Waits until the child has mounted the overlay or has failed,
 * but at most 10 seconds. Returns true if the kernel refused this overlay. Then the caller ends the
 * instance, and may start it again with rootfs.served. */
bool process_overlay_refused(const struct process_request *r, const struct process_instance *i);
/* Fills E with the reason why the channel closed before READY. Always returns -1. */
int process_failure(struct process_instance *i, struct err *e);
/* Returns the stage that failed: "mount", "network" or "other". */
const char *process_failed_stage(const struct process_instance *i);
/* Call this after READY. Frees the memory that only the start needed. */
void process_started(struct process_instance *i);
/* Call this after READY. Sets *RET_LINK to the gateway's end of the interface that the request
 * asked for. The caller owns this descriptor. */
MUST_USE int process_take_link(struct process_instance *i, int *ret_link, struct err *e);
void process_kill(struct process_instance *i);
/* Kills and reaps pid 1, removes the control groups and frees everything. fuse-overlayfs gets time
 * to write what it still has. */
void process_done(struct process_instance *i);

/* Opens the program of pid 1 in such a way that no process in the sandbox can ever write to it.
 *
 * If only the host's root can write to the file, the file itself is opened in two cases, and all
 * sandboxes share its pages. First, if PARENT_MOUNTS is true, the file is opened through a
 * read-only mount. Second, if an ordinary user runs cordon, the file is opened directly: a user's
 * sandbox has no id for the host's root, so no process in it can own the file.
 *
 * In all other cases root in the sandbox could own the file and write to it. So we make a copy of
 * the file in memory and seal the copy. */
MUST_USE int process_guest_program(const char *path, bool parent_mounts, int *ret_fd,
				   struct err *e);
